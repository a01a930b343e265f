import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { MissingReference } from './governance-write.ts'
import type { ImportPlan } from './import-plan.ts'
import { reportData, reportText, type Failure } from './report.ts'

/** Prints a plan, and writes it before when `--apply` was given. */
export async function finishImport<Write>(
  { flags, output, signal }: Invocation,
  plan: ImportPlan<Write>,
  write: (one: Write) => Promise<void>,
): Promise<number> {
  const applied = flags.has('apply')
  const failures: Failure[] = []
  for (const { kind, name, write: one } of applied ? plan.actions : []) {
    signal.throwIfAborted()
    const error = await failureOf(() => write(one))
    if (error !== undefined) failures.push({ kind, name, error })
  }
  const result = { applied, plan, failures }
  output.show(reportData(result), () => reportText(result, { overwrite: flags.has('overwrite') }))
  if (failures.length > 0) return EXIT_CODES.failed
  return !applied && plan.actions.length > 0 ? EXIT_CODES.changes : EXIT_CODES.ok
}

/** A record that is rejected does not stop the others; a server that is gone does. */
async function failureOf(act: () => Promise<void>): Promise<string | undefined> {
  try {
    await act()
    return undefined
  } catch (thrown) {
    if (thrown instanceof MissingReference) return thrown.message
    if (thrown instanceof ApiError && thrown.status !== 401)
      return thrown.text.trim() || `status ${thrown.status}`
    throw thrown
  }
}
