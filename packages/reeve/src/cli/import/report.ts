import type { Difference, ImportPlan, Item, Omission } from './import-plan.ts'

/** How writing an action ended. */
export interface Failure extends Item {
  readonly error: string
}

export interface ImportResult {
  readonly applied: boolean
  readonly plan: ImportPlan<unknown>
  /** Of what was written. */
  readonly failures: readonly Failure[]
}

/** The report for machines. Bodies of writes are left out: they hold secrets. */
export function reportData({ applied, plan, failures }: ImportResult): object {
  const failed = new Map(failures.map((failure) => [keyOf(failure), failure.error]))
  return {
    Applied: applied,
    Actions: plan.actions.map(({ kind, name, do: verb, note }) => ({
      Kind: kind,
      Name: name,
      Action: verb,
      Note: note ?? '',
      Error: failed.get(keyOf({ kind, name })) ?? '',
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

function keyOf({ kind, name }: Item): string {
  return `${kind} ${name}`
}

function omissionData({ kind, name, field, reason }: Omission): object {
  return { Kind: kind, Name: name, Field: field ?? '', Reason: reason }
}

/** The report for people. */
export function reportText(result: ImportResult, options: { overwrite: boolean }): string {
  const { applied, plan, failures } = result
  const failed = new Set(failures.map(keyOf))
  const done = plan.actions.filter((action) => !failed.has(keyOf(action)))
  const written = (verb: 'create' | 'update') =>
    done
      .filter((action) => action.do === verb)
      .map((one) => `${one.kind} ${one.name}${one.note === undefined ? '' : ` (${one.note})`}`)
  const unchanged = plan.unchanged.length
  return [
    section(applied ? 'Created' : 'To create', written('create')),
    section(applied ? 'Updated' : 'To update', written('update')),
    section(
      'Failed',
      failures.map(({ kind, name, error }) => `${kind} ${name}: ${error}`),
    ),
    section(differencesTitle(applied, options.overwrite), plan.differences.map(differenceLine)),
    section('Not carried over', omissionLines(plan.omissions)),
    section('To set by hand', omissionLines(plan.secrets)),
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

function section(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return ''
  return `${title}: ${lines.length}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

const VALUE_CHARS_MAX = 60

function differenceLine({ kind, name, field, source, target }: Difference): string {
  return `${kind} ${name}: ${field} is ${shown(source)} at the source, ${shown(target)} here`
}

function shown(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'empty'
  const text = JSON.stringify(value)
  return text.length <= VALUE_CHARS_MAX ? text : `${text.slice(0, VALUE_CHARS_MAX - 1)}…`
}

/** What has the same reason is one line. */
function omissionLines(omissions: readonly Omission[]): readonly string[] {
  const names = new Map<string, { readonly ofWhat: Omission; readonly names: string[] }>()
  for (const omission of omissions) {
    const { kind, name, field, reason } = omission
    const key = JSON.stringify([kind, field, reason])
    const group = names.get(key)
    if (group === undefined) names.set(key, { ofWhat: omission, names: [name] })
    else group.names.push(name)
  }
  return [...names.values()].map(({ ofWhat: { kind, field, reason }, names: group }) => {
    const what = field === undefined ? '' : `: ${field}`
    return `${kind} ${group.join(', ')}${what}: ${reason}`
  })
}

function nextStep({ applied, plan, failures }: ImportResult): string {
  if (applied)
    return failures.length === 0
      ? ''
      : 'Not everything was written. Repair what failed and run it again: it goes on from here.\n'
  if (plan.actions.length === 0) return 'There is nothing to write.\n'
  return 'Nothing was written. Run it again with --apply to write it.\n'
}
