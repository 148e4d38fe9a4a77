-- What the mariadb client is given: results of all shapes, errors among them.
SELECT 1, 'two', NULL, 3.50, DATE '2026-02-28';
SELECT * FROM nothing_there;
DROP TABLE interop;
CREATE TABLE interop (id INT PRIMARY KEY AUTO_INCREMENT, note VARCHAR(200), big LONGTEXT) DEFAULT CHARSET = utf8mb4;
INSERT INTO interop (note) VALUES ('grün'), ('日本語'), ('😀'), (''), (NULL);
UPDATE interop SET big = REPEAT(COALESCE(note, 'n'), 100000);
SELECT id, note, LENGTH(big), MD5(big) FROM interop ORDER BY id;
SELECT big FROM interop WHERE id = 4;
SELECT LENGTH(REPEAT('r', 20000000)), MD5(REPEAT('r', 20000000));
SELECT REPEAT('r', 17000000);
INSERT INTO interop (id) VALUES (1);
START TRANSACTION;
DELETE FROM interop;
SELECT COUNT(*) FROM interop;
ROLLBACK;
SELECT COUNT(*) FROM interop;
SELECT CAST('no number' AS SIGNED);
SHOW WARNINGS;
PREPARE statement FROM 'SELECT ? + ?';
SET @a = 3, @b = 4;
EXECUTE statement USING @a, @b;
DEALLOCATE PREPARE statement;
DROP PROCEDURE interop_results;
DELIMITER //
CREATE PROCEDURE interop_results()
BEGIN
  SELECT 1 AS first;
  SELECT 2 AS second, 'b';
  SELECT id FROM interop WHERE FALSE;
END//
DELIMITER ;
CALL interop_results();
SHOW COLUMNS FROM interop;
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'as it was said';
SELECT 'the last line';
