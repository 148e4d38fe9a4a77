-- Types that only MariaDB has.
CREATE TABLE addresses (id INT PRIMARY KEY, u UUID, v6 INET6, v4 INET4);
INSERT INTO addresses VALUES (1, '123e4567-e89b-12d3-a456-426655440000', '2001:db8::ff00:42:8329', '192.0.2.1'), (2, NULL, NULL, NULL);
