"""Flying scenarios for an answer: single flights, studies, searches, comparisons, and the judgement of what was measured."""
