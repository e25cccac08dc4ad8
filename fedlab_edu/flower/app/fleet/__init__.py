"""A Flower app: federated learning with fedlab_edu."""
