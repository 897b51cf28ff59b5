from .base_model import BaseModel


class Playbook(BaseModel):
    playbook: "PlaybookPlaybook"


class PlaybookPlaybook(BaseModel):
    text: str
    lessonIds: list[str]
    playbookId: str
