import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { readGovernance } from './governance-inventory.ts'
import { planGovernance } from './governance-plan.ts'
import { MissingReference, TargetIds, writeGovernance } from './governance-write.ts'
import type { ImportPlan } from './import-plan.ts'
import { openSource } from './import-source.ts'
import { GOVERNANCE_NAMES, PEER_NAMES } from './peer-names.ts'
import { reportData, reportText, type Failure } from './report.ts'
import { readWorkload } from './workload-inventory.ts'
import { planWorkload } from './workload-plan.ts'
import { checkJobs, writeWorkload } from './workload-target.ts'

/** `import workload --from URL`. */
export async function runImportWorkload(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const { client: from } = await openSource(invocation, PEER_NAMES)
  const source = await readWorkload(from, PEER_NAMES)
  const target = await readWorkload(client, PEER_NAMES)
  const plan = planWorkload({
    source,
    target,
    checks: await checkJobs(client, source.jobs),
    overwrite: flags.has('overwrite'),
    start: flags.has('start'),
  })
  return await applyAndReport(invocation, plan, (write) => writeWorkload(client, write))
}

/** `import governance --from URL`. */
export async function runImportGovernance(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const from = await openSource(invocation, PEER_NAMES)
  const wanted = flags.strings('organization')
  const source = await readGovernance({ ...from, names: GOVERNANCE_NAMES }, wanted)
  const found = new Set(source.map(({ name }) => name.toLowerCase()))
  const missing = wanted.find((name) => !found.has(name.toLowerCase()))
  if (missing !== undefined)
    throw new CommandError(`The source has no organization "${missing}" that its token sees.`, {
      code: EXIT_CODES.missing,
    })
  const names = source.map(({ name }) => name)
  const get = async () => await Promise.resolve(undefined)
  const target =
    names.length === 0 ? [] : await readGovernance({ client, get, names: GOVERNANCE_NAMES }, names)
  const plan = planGovernance({ source, target, overwrite: flags.has('overwrite') })
  const ids = new TargetIds(target)
  return await applyAndReport(invocation, plan, (write) => writeGovernance(client, ids, write))
}

/** Applies the plan if `--apply` is set, and prints a report. */
async function applyAndReport<Write>(
  { flags, output, signal }: CommandContext,
  plan: ImportPlan<Write>,
  write: (one: Write) => Promise<void>,
): Promise<number> {
  const applied = flags.has('apply')
  const failures: Failure[] = []
  for (const { kind, name, write: one } of applied ? plan.actions : []) {
    signal.throwIfAborted()
    const error = await importError(() => write(one))
    if (error !== undefined) failures.push({ kind, name, error })
  }
  const result = { applied, plan, failures }
  output.print(reportData(result), () => reportText(result, { overwrite: flags.has('overwrite') }))
  if (failures.length > 0) return EXIT_CODES.failed
  return !applied && plan.actions.length > 0 ? EXIT_CODES.changes : EXIT_CODES.ok
}

/** Returns the message of a rejected write. Connection errors are rethrown and stop the import. */
async function importError(act: () => Promise<void>): Promise<string | undefined> {
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
