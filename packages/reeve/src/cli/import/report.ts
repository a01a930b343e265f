import type { Difference, ImportPlan, Item, Omission } from './import-plan.ts'

/** An action that could not be written. */
export interface Failure extends Item {
  readonly error: string
}

export interface ImportResult {
  readonly applied: boolean
  readonly plan: ImportPlan<unknown>
  /** Actions that failed. */
  readonly failures: readonly Failure[]
}

/** The report as JSON. Request bodies are omitted, because they contain secrets. */
export function reportData({ applied, plan, failures }: ImportResult): object {
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
export function reportText(result: ImportResult, options: { overwrite: boolean }): string {
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
      : 'Not everything was written. Repair what failed and run it again: it goes on from here.\n'
  if (plan.actions.length === 0) return 'There is nothing to write.\n'
  return 'Nothing was written. Run it again with --apply to write it.\n'
}
