"""Next-sentence-prediction fine-tuning: GPT-2 and T5 family models learn to take the inter-sentence test.

stereoset nsp prepare --languages de --output pairs
accelerate launch -m nsp_finetune train --preset t5-de --pairs pairs --output model
stereoset nsp evaluate model --pairs pairs
"""
