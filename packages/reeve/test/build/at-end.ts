import type { TestContext } from 'node:test'

type Ending = () => unknown

const endings = new WeakMap<TestContext, Ending[]>()

/**
 * Undoes something after a test, the last thing first: a program is ended before the directory goes
 * that it writes to. Hooks of `t.after` run in the order in which they were made.
 */
export function atEnd(t: TestContext, end: Ending): void {
  const known = endings.get(t)
  if (known !== undefined) {
    known.push(end)
    return
  }
  const made = [end]
  endings.set(t, made)
  t.after(() => endAll(made))
}

/** One that fails does not keep the others from their turn. */
async function endAll(made: Ending[]): Promise<void> {
  const failures: unknown[] = []
  for (let end = made.pop(); end !== undefined; end = made.pop())
    try {
      await end()
    } catch (thrown) {
      failures.push(thrown)
    }
  if (failures.length > 0) throw failures[0]
}
