import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A directory of the test's own, removed after it. */
export async function temporaryDirectory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'reeve-test-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}
