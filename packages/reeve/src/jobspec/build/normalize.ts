import { charge, errorAt, TOO_EXPENSIVE } from '@reeve/hcl'
import { note } from '../findings.ts'
import { isRecord, recordsOf, type JsonRecord } from '../json.ts'
import { amend, fallBack, take, type Draft } from './draft.ts'

/** Sets the ID and name of a job to its label unless they are given. */
export function nameJob(draft: Draft): void {
  const label = take(draft, '@label')
  if (typeof label !== 'string') return
  for (const name of ['ID', 'Name']) {
    if (draft.values.has(name)) continue
    fallBack(draft, name, label)
    draft.marks.set(name, { span: draft.span })
  }
}

/**
 * Wraps tasks directly inside a job in groups, before the other groups. `fields` are the fields of
 * a group.
 */
export function wrapTasks(draft: Draft, fields: readonly string[]): void {
  const { places } = draft.building
  const tasks = recordsOf(take(draft, '@tasks'))
  if (tasks.length === 0) return
  const unset = Object.fromEntries(fields.map((name) => [name, null]))
  const wrapped = tasks.map((task) => {
    const group: JsonRecord = { ...unset, Name: task['Name'] ?? null, Tasks: [task] }
    const marks = places.get(task)
    if (marks !== undefined) places.set(group, { span: marks.span, fields: new Map() })
    return group
  })
  draft.values.set('TaskGroups', [...wrapped, ...recordsOf(draft.values.get('TaskGroups'))])
}

/** Secret settings of a job or group that all its tasks inherit. */
interface SharedSecrets {
  readonly store: JsonRecord | undefined
  readonly secrets: readonly JsonRecord[]
}

export function giveSecretsToTasks(draft: Draft): void {
  const shared = takeSecrets(draft)
  if (shared === undefined) return
  const tasks = recordsOf(draft.values.get('Tasks'))
  if (tasks.length > 0) draft.values.set('Tasks', withSecrets(tasks, shared, draft))
}

export function giveSecretsToGroups(draft: Draft): void {
  const shared = takeSecrets(draft)
  if (shared === undefined) return
  const groups = recordsOf(draft.values.get('TaskGroups')).map((group) => {
    const tasks = recordsOf(group['Tasks'])
    if (tasks.length === 0) return group
    const Tasks = withSecrets(tasks, shared, draft)
    return amend(group, { Tasks }, draft.building.places)
  })
  if (groups.length > 0) draft.values.set('TaskGroups', groups)
}

function takeSecrets(draft: Draft): SharedSecrets | undefined {
  const store = take(draft, '@secret_store')
  const secrets = recordsOf(take(draft, '@secrets'))
  if (store === undefined && secrets.length === 0) return undefined
  return { store: isRecord(store) ? store : undefined, secrets }
}

/** A task's own store, and its own secret of the same name, take precedence. */
function withSecrets(
  tasks: readonly JsonRecord[],
  { store, secrets }: SharedSecrets,
  { building, span }: Draft,
): readonly JsonRecord[] {
  // Tasks times secrets grows faster than the file.
  if (!charge(building.meter, tasks.length * (1 + secrets.length))) {
    const detail = 'The secrets given to all tasks are too many for the tasks.'
    // Reported once: every other group would exceed the budget too.
    if (building.findings.errors.at(-1)?.summary !== TOO_EXPENSIVE)
      note(building.findings, () => errorAt(span, TOO_EXPENSIVE, detail))
    return tasks
  }
  return tasks.map((task) => {
    const own = recordsOf(task['Secrets'])
    const names = new Set(own.map((secret) => secret['Name']))
    const all = [...own, ...secrets.filter((secret) => !names.has(secret['Name'] ?? null))]
    const SecretStore = task['SecretStore'] ?? store ?? null
    return amend(task, { SecretStore, Secrets: all.length === 0 ? null : all }, building.places)
  })
}
