import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
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
export async function runImportWorkload(invocation: Invocation): Promise<number> {
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
  return await finishImport(invocation, plan, (write) => writeWorkload(client, write))
}

/** `import governance --from URL`. */
export async function runImportGovernance(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const from = await openSource(invocation, PEER_NAMES)
  const wanted = flags.texts('organization')
  const source = await readGovernance({ ...from, names: GOVERNANCE_NAMES }, wanted)
  const found = new Set(source.map(({ name }) => name.toLowerCase()))
  const missing = wanted.find((name) => !found.has(name.toLowerCase()))
  if (missing !== undefined)
    throw new CommandFailure(`The source has no organization "${missing}" that its token sees.`, {
      code: EXIT_CODES.missing,
    })
  const names = source.map(({ name }) => name)
  const get = async () => await Promise.resolve(undefined)
  const target =
    names.length === 0 ? [] : await readGovernance({ client, get, names: GOVERNANCE_NAMES }, names)
  const plan = planGovernance({ source, target, overwrite: flags.has('overwrite') })
  const ids = new TargetIds(target)
  return await finishImport(invocation, plan, (write) => writeGovernance(client, ids, write))
}

/** Prints a plan, and writes it before when `--apply` was given. */
async function finishImport<Write>(
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
