from .base_model import BaseModel


class PlaybookData(BaseModel):
    playbook: "PlaybookResult"


class PlaybookResult(BaseModel):
    text: str
    lessonIds: list[str]
    playbookId: str
