"""Next-sentence-prediction fine-tuning: GPT-2 and T5 family models learn to take the inter-sentence test.

python -m nsp_finetune prepare --languages de --output pairs
accelerate launch -m nsp_finetune train --preset t5-de --pairs pairs --output model
python -m nsp_finetune evaluate model --pairs pairs
"""
