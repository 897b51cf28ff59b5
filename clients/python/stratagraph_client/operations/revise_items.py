from .base_model import BaseModel


class ReviseItemsData(BaseModel):
    reviseRecords: "ReviseItemsResult"


class ReviseItemsResult(BaseModel):
    results: list["ReviseItemsResults"]


class ReviseItemsResults(BaseModel):
    record: "ReviseItemsResultsRecord"
    receipt: "ReviseItemsResultsReceipt"
    replayed: bool


class ReviseItemsResultsRecord(BaseModel):
    id: str


class ReviseItemsResultsReceipt(BaseModel):
    sequence: str
