import { charge, errorAt, TOO_EXPENSIVE } from '@reeve/hcl'
import { report } from '../diagnostics.ts'
import { isRecord, toRecords, type JsonRecord } from '../source.ts'
import { copyWith, setDefault, takePseudoField, type RecordBuilder } from './record-builder.ts'

/** Sets the ID and name of a job to its label unless they are given. */
export function defaultJobName(draft: RecordBuilder): void {
  const label = takePseudoField(draft, '@label')
  if (typeof label !== 'string') return
  for (const name of ['ID', 'Name']) {
    if (draft.values.has(name)) continue
    setDefault(draft, name, label)
    draft.marks.set(name, { span: draft.span })
  }
}

/**
 * Wraps tasks directly inside a job in groups, before the other groups. `fields` are the fields of
 * a group.
 */
export function wrapTasksInGroups(draft: RecordBuilder, fields: readonly string[]): void {
  const { places } = draft.building
  const tasks = toRecords(takePseudoField(draft, '@tasks'))
  if (tasks.length === 0) return
  const unset = Object.fromEntries(fields.map((name) => [name, null]))
  const wrapped = tasks.map((task) => {
    const group: JsonRecord = { ...unset, Name: task['Name'] ?? null, Tasks: [task] }
    const marks = places.get(task)
    if (marks !== undefined) places.set(group, { span: marks.span, fields: new Map() })
    return group
  })
  draft.values.set('TaskGroups', [...wrapped, ...toRecords(draft.values.get('TaskGroups'))])
}

/** Secret settings of a job or group that all its tasks inherit. */
interface SharedSecrets {
  readonly store: JsonRecord | undefined
  readonly secrets: readonly JsonRecord[]
}

export function moveSecretsToTasks(draft: RecordBuilder): void {
  const shared = takeSecrets(draft)
  if (shared === undefined) return
  const tasks = toRecords(draft.values.get('Tasks'))
  if (tasks.length > 0) draft.values.set('Tasks', withSecrets(tasks, shared, draft))
}

export function moveSecretsToGroups(draft: RecordBuilder): void {
  const shared = takeSecrets(draft)
  if (shared === undefined) return
  const groups = toRecords(draft.values.get('TaskGroups')).map((group) => {
    const tasks = toRecords(group['Tasks'])
    if (tasks.length === 0) return group
    const Tasks = withSecrets(tasks, shared, draft)
    return copyWith(group, { Tasks }, draft.building.places)
  })
  if (groups.length > 0) draft.values.set('TaskGroups', groups)
}

function takeSecrets(draft: RecordBuilder): SharedSecrets | undefined {
  const store = takePseudoField(draft, '@secret_store')
  const secrets = toRecords(takePseudoField(draft, '@secrets'))
  if (store === undefined && secrets.length === 0) return undefined
  return { store: isRecord(store) ? store : undefined, secrets }
}

/** A task's own store, and its own secret of the same name, take precedence. */
function withSecrets(
  tasks: readonly JsonRecord[],
  { store, secrets }: SharedSecrets,
  { building, span }: RecordBuilder,
): readonly JsonRecord[] {
  // Tasks times secrets grows faster than the file.
  if (!charge(building.meter, tasks.length * (1 + secrets.length))) {
    const detail = 'The secrets given to all tasks are too many for the tasks.'
    // Reported once: every other group would exceed the budget too.
    if (building.findings.errors.at(-1)?.summary !== TOO_EXPENSIVE)
      report(building.findings, () => errorAt(span, TOO_EXPENSIVE, detail))
    return tasks
  }
  return tasks.map((task) => {
    const taskSecrets = toRecords(task['Secrets'])
    const names = new Set(taskSecrets.map((secret) => secret['Name']))
    const all = [...taskSecrets, ...secrets.filter((secret) => !names.has(secret['Name'] ?? null))]
    const SecretStore = task['SecretStore'] ?? store ?? null
    return copyWith(task, { SecretStore, Secrets: all.length === 0 ? null : all }, building.places)
  })
}
