import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { atEnd } from './at-end.ts'

/** A process that was just killed may still be writing. */
const REMOVE_TRIES = 10

/** A directory of the test's own, removed after it. */
export async function temporaryDirectory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'reeve-test-'))
  atEnd(t, () => rm(path, { recursive: true, force: true, maxRetries: REMOVE_TRIES }))
  return path
}
