from .base_model import BaseModel
from .enums import Sensitivity


class PutItemsData(BaseModel):
    rememberAll: "PutItemsResult"


class PutItemsResult(BaseModel):
    results: list["PutItemsResults"]


class PutItemsResults(BaseModel):
    primaryRecord: "PutItemsResultsPrimaryRecord"
    receipt: "PutItemsResultsReceipt"
    replayed: bool


class PutItemsResultsPrimaryRecord(BaseModel):
    id: str
    sensitivity: Sensitivity


class PutItemsResultsReceipt(BaseModel):
    sequence: str
