-- When work in a frame first began; null while it is planned.
ALTER TABLE frames ADD COLUMN begun_at INTEGER;
UPDATE frames SET begun_at = first.at
FROM (
  SELECT frame, min(at) AS at FROM (
    SELECT
      CASE WHEN json_valid(body) THEN json_extract(body, '$.frame.num') END AS frame,
      CASE WHEN json_valid(body) AND json_extract(body, '$.frame.status') = 'in_progress'
        THEN json_extract(body, '$.frame.created_at') END AS at
    FROM events WHERE body GLOB '{"kind":"frame_created"*'
    UNION ALL
    SELECT CASE WHEN json_valid(body) THEN json_extract(body, '$.frame') END, at
    FROM events WHERE body GLOB '{"kind":"frame_started"*'
  ) GROUP BY frame
) AS first
WHERE first.frame = frames.num AND frames.status <> 'planned';
