import stamp from './stamp.cjs'
import { steps } from './steps.cjs'
import { SetUpFailure } from './failure.mjs'
import { withLock } from './lock.mjs'
import { setUpProgram } from './program.mjs'

/**
 * Brings the checkout up to date: runs each step whose inputs changed since it last succeeded.
 * Returns false after printing why when a step failed.
 */
export async function setUp(root) {
  if (!(await runSteps(root))) return false
  // Last, because it needs what the steps install. Not one of them: all goes on without it.
  await setUpProgram(root)
  return true
}

async function runSteps(root) {
  if ((await pendingSteps(root)).length === 0) return true
  try {
    // Asked again under the lock: another process may have done the work while we waited.
    await withLock(root, async () => {
      for (const step of await pendingSteps(root)) {
        await step.run(root)
        remember(root, step)
      }
    })
    return true
  } catch (error) {
    if (!(error instanceof SetUpFailure)) throw error
    process.stderr.write(`${error.message}\n`)
    return false
  }
}

async function pendingSteps(root) {
  const known = stamp.readStamp(root)
  const pending = []
  for (const step of steps) {
    if (stamp.isDone(root, step, known)) continue
    const isReady = stamp.isSameContent(root, step, known) || (await step.isMade?.(root)) === true
    if (isReady) remember(root, step)
    else pending.push(step)
  }
  return pending
}

/** Where the tree is read-only nothing is remembered, and every start asks the long way. */
function remember(root, step) {
  try {
    stamp.recordStep(root, step)
  } catch (error) {
    if (!['EACCES', 'EROFS', 'EPERM'].includes(error.code)) throw error
  }
}
