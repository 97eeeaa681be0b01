"""Claims, reports and outcomes, used wrongly."""

from howdah import Client, Complete, Fail, Lease, Release, Snooze, Worker


def wrong(client: Client, lease: Lease) -> None:
    client.claim()  # error: reportCallIssue
    client.claim("mail", 10)  # error: reportCallIssue
    client.complete(lease.job_id)  # error: reportArgumentType
    client.fail(lease)  # error: reportCallIssue
    client.fail(lease, "broken", 5)  # error: reportCallIssue
    client.settle_many([(lease, "done")])  # error: reportArgumentType
    client.settle_many([Complete()])  # error: reportArgumentType
    client.resolve(1, "running", "why")  # error: reportArgumentType
    client.resolve(1, "completed")  # error: reportCallIssue
    Lease(1, 2)  # error: reportCallIssue
    lease.token = 3  # error: reportAttributeAccessIssue
    Snooze()  # error: reportCallIssue
    Snooze("5 minutes")  # error: reportArgumentType
    Fail("broken", 5)  # error: reportCallIssue
    Release()  # error: reportCallIssue
    Worker(kinds=["shop.jobs"])  # error: reportArgumentType
    Worker(queues=["mail"])  # error: reportArgumentType
    Worker("postgresql://", [], {"mail": 1})  # error: reportCallIssue
