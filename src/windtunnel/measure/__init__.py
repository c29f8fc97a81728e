"""Running scenarios for an answer: single runs, studies, searches, comparisons, and the judgement of what was measured."""
