import type { TestServer } from './harness.ts'

/** Topic and type of each event of the commit after an index, in order of their text. */
export async function eventsAfter(server: TestServer, index: number): Promise<readonly string[]> {
  for await (const commit of server.context.store.log.read(index + 1))
    return commit.events.map(({ Topic, Type }) => `${Topic} ${Type}`).toSorted()
  return []
}
