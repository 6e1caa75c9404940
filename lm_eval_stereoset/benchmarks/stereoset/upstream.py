"""The authors' repository: where each file is, and the fingerprint it must have."""

REPOSITORY = "https://github.com/slds-lmu/stereotypes-multi"
COMMIT = "883f005dd9d003a6974e498f435629ec46d931c7"
RAW_URL = f"https://raw.githubusercontent.com/slds-lmu/stereotypes-multi/{COMMIT}"

# SHA-256 of each pickle at COMMIT.
PICKLE_SHA256 = {
    ("intra", "en"): "f83353183ac20ffcdc08c5cc905b89d9748c8ebee7bc319bb9d1e2311deb1e1c",
    ("intra", "de"): "43bcb9eadab177b9593743f923fa5413ac3aa60486bef2f112057fa43ae54f7d",
    ("intra", "fr"): "adb20df258874a0205065bd119f7a49d7d1b51f017f1ceb55a2478498debbe74",
    ("intra", "es"): "0ad6fbcbced6311f5ba0050794ad7d43d00d48ab9e34397dcd0740047f303aa9",
    ("intra", "tr"): "81ca8c31ee9837a83729f5e1c042ad1aa12f6a91b423fc4c79e2c3bfdfd0c6c9",
    ("inter", "en"): "f0fb0258fedd0823975412ba796997d3c34ee1988f5526b514ea8a6390e8e4db",
    ("inter", "de"): "f9107286b96c67b932bf5efc4a065f06c7d835f1c29fd282d8fda7a43688b517",
    ("inter", "fr"): "acd0ad25d0c46eda0ce2999f09f04d4fc603e6242ba5ff6ab9c68aa469e02c7a",
    ("inter", "es"): "5183a7bf2aef552cd9d8427370b97c803759fdeba120623779d037aeccdbf14a",
    ("inter", "tr"): "cd014f42d29db9c9993e28bcab5795c6a1d8a4e0af0b6c5f45ac48976e2dd15c",
}

# SHA-256 of the canonical file made from it: recognises StereoSet wherever a copy of it lies.
CANONICAL_SHA256 = {
    ("intra", "en"): "a497685585fb91d5f4fe563b5c570ec55107688e714cbc95f21c1c17da91e9a1",
    ("intra", "de"): "c02d5740a5fe1f1dde10334b3388fb37b529c3b55bc3defa0415c671dcfa18d8",
    ("intra", "fr"): "cadf18be9bf338d023d5930c9b9709f43e00a46d71a70397a3556be667c698fe",
    ("intra", "es"): "c1b66753c69829de73d8eb8b30618e368831c1fd05d8c010eab9954926fc07a0",
    ("intra", "tr"): "02e37552bdde685c8a7b4b915d8bd46e840a9c0b68eb429e44cb523754e1ec2e",
    ("inter", "en"): "1e4371285c6151aa6cfa1244c40218d0583a94236e394658c0c6487f2f2a111a",
    ("inter", "de"): "7cc264ae875b26aedb5ca52ede267edfe4c863df6878db172d7346bb05149e7c",
    ("inter", "fr"): "5f2a328df01800453320f20aa675498bc1a26c2f6e9a7acec25b7b19d746d094",
    ("inter", "es"): "e04ee9d646c699243bf025494f27df6abfe4943df4513272b0fd14135ad04f00",
    ("inter", "tr"): "e9c1a224d40b2f3396c493c36735305c3a31097ceebacef77d5924ef46d56bc1",
}


def pickle_path(split: str, language: str) -> str:
    return f"create_dataset/data/{split}sentence/df_{split}sentence_{language}.pkl"
