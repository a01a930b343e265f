import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES } from '../errors.ts'
import { readGovernance } from './governance-inventory.ts'
import { planGovernance } from './governance-plan.ts'
import {
  checkJobs,
  MissingReference,
  TargetIds,
  writeGovernance,
  writeWorkload,
} from './import-write.ts'
import type { Difference, ImportPlan, Item, Omission } from './import-plan.ts'
import { GOVERNANCE_NAMES, openSource, PEER_NAMES } from './source.ts'
import { readWorkload } from './workload-inventory.ts'
import { planWorkload } from './workload-plan.ts'

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

/** An action that could not be written. */
interface Failure extends Item {
  readonly error: string
}

interface ImportResult {
  readonly applied: boolean
  readonly plan: ImportPlan<unknown>
  /** Actions that failed. */
  readonly failures: readonly Failure[]
}

/** The report as JSON. Request bodies are omitted, because they contain secrets. */
function reportData({ applied, plan, failures }: ImportResult): object {
  const failed = new Map(failures.map((failure) => [itemKey(failure), failure.error]))
  return {
    Applied: applied,
    Actions: plan.actions.map(({ kind, name, do: verb, details }) => ({
      Kind: kind,
      Name: name,
      Action: verb,
      Note: details ?? '',
      Error: failed.get(itemKey({ kind, name })) ?? '',
    })),
    Unchanged: plan.unchanged.map(({ kind, name }) => ({ Kind: kind, Name: name })),
    Differences: plan.differences.map(({ kind, name, field, source, target }) => ({
      Kind: kind,
      Name: name,
      Field: field,
      Source: source ?? null,
      Target: target ?? null,
    })),
    NotCarriedOver: plan.omissions.map(omissionData),
    Secrets: plan.secrets.map(omissionData),
  }
}

function itemKey({ kind, name }: Item): string {
  return `${kind} ${name}`
}

function omissionData({ kind, name, field, reason }: Omission): object {
  return { Kind: kind, Name: name, Field: field ?? '', Reason: reason }
}

/** Formats the report as text. */
function reportText(result: ImportResult, options: { overwrite: boolean }): string {
  const { applied, plan, failures } = result
  const failed = new Set(failures.map(itemKey))
  const done = plan.actions.filter((action) => !failed.has(itemKey(action)))
  const written = (verb: 'create' | 'update') =>
    done
      .filter((action) => action.do === verb)
      .map(
        (one) => `${one.kind} ${one.name}${one.details === undefined ? '' : ` (${one.details})`}`,
      )
  const unchanged = plan.unchanged.length
  return [
    formatSection(applied ? 'Created' : 'To create', written('create')),
    formatSection(applied ? 'Updated' : 'To update', written('update')),
    formatSection(
      'Failed',
      failures.map(({ kind, name, error }) => `${kind} ${name}: ${error}`),
    ),
    formatSection(
      differencesTitle(applied, options.overwrite),
      plan.differences.map(differenceLine),
    ),
    formatSection('Not carried over', omissionLines(plan.omissions)),
    formatSection('To set by hand', omissionLines(plan.secrets)),
    unchanged === 0 ? '' : `${unchanged} unchanged\n`,
    nextStep(result),
  ]
    .filter((text) => text !== '')
    .join('\n')
}

function differencesTitle(applied: boolean, overwrite: boolean): string {
  if (!overwrite) return 'Different, kept as the target has it (--overwrite takes the source)'
  return applied ? 'Different, overwritten' : 'Different, to be overwritten'
}

function formatSection(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return ''
  return `${title}: ${lines.length}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

const VALUE_CHARS_MAX = 60

function differenceLine({ kind, name, field, source, target }: Difference): string {
  return `${kind} ${name}: ${field} is ${formatValue(source)} at the source, ${formatValue(target)} here`
}

function formatValue(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'empty'
  const text = JSON.stringify(value)
  return text.length <= VALUE_CHARS_MAX ? text : `${text.slice(0, VALUE_CHARS_MAX - 1)}…`
}

/** Groups omissions with the same reason into one line. */
function omissionLines(omissions: readonly Omission[]): readonly string[] {
  const names = new Map<string, { readonly omission: Omission; readonly names: string[] }>()
  for (const omission of omissions) {
    const { kind, name, field, reason } = omission
    const key = JSON.stringify([kind, field, reason])
    const group = names.get(key)
    if (group === undefined) names.set(key, { omission: omission, names: [name] })
    else group.names.push(name)
  }
  return [...names.values()].map(({ omission: { kind, field, reason }, names: group }) => {
    const what = field === undefined ? '' : `: ${field}`
    return `${kind} ${group.join(', ')}${what}: ${reason}`
  })
}

function nextStep({ applied, plan, failures }: ImportResult): string {
  if (applied)
    return failures.length === 0
      ? ''
      : 'Some objects were not written. Fix the errors and run the import again: it continues from here.\n'
  if (plan.actions.length === 0) return 'There is nothing to write.\n'
  return 'Nothing was written. Run it again with --apply to write it.\n'
}
