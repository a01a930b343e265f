import {
  isPlainObject,
  objectAt,
  objectsIn,
  textAt,
  valueText,
  type PlainObject,
} from './plain-value.ts'

/** A resource instance or an output that differs between two states. */
export interface StateChange {
  readonly action: 'added' | 'removed' | 'changed'
  /** Address of the instance, or `output.NAME`. */
  readonly address: string
  readonly attributes: readonly AttributeChange[]
}

/** An attribute that differs; the texts of sensitive ones are hidden. */
export interface AttributeChange {
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Compares two states. Sensitive values are compared, and not shown. */
export function compareStates(before: PlainObject, after: PlainObject): readonly StateChange[] {
  const [left, right] = [stateEntries(before), stateEntries(after)]
  const addresses = [...new Set([...left.keys(), ...right.keys()])].toSorted()
  return addresses.flatMap((address): readonly StateChange[] => {
    const [old, next] = [left.get(address), right.get(address)]
    const attributes = attributeChanges(old, next)
    if (old === undefined) return [{ action: 'added', address, attributes }]
    if (next === undefined) return [{ action: 'removed', address, attributes: [] }]
    return attributes.length === 0 ? [] : [{ action: 'changed', address, attributes }]
  })
}

interface StateEntry {
  readonly attributes: PlainObject
  /** Names of attributes with a sensitive value. */
  readonly sensitive: ReadonlySet<string>
}

function stateEntries(state: PlainObject): ReadonlyMap<string, StateEntry> {
  const entries = new Map<string, StateEntry>()
  for (const resource of objectsIn(state['resources']))
    for (const instance of objectsIn(resource['instances'])) {
      const address = `${addressOf(resource)}${indexText(instance['index_key'])}`
      const attributes = objectAt(instance, 'attributes')
      entries.set(address, { attributes, sensitive: sensitiveNames(instance) })
    }
  for (const [name, output] of Object.entries(objectAt(state, 'outputs'))) {
    if (!isPlainObject(output)) continue
    const sensitive = new Set(output['sensitive'] === true ? ['value'] : [])
    entries.set(`output.${name}`, { attributes: { value: output['value'] }, sensitive })
  }
  return entries
}

function addressOf(resource: PlainObject): string {
  const module = textAt(resource, 'module')
  const data = textAt(resource, 'mode') === 'data' ? 'data.' : ''
  const local = `${data}${textAt(resource, 'type')}.${textAt(resource, 'name')}`
  return module === '' ? local : `${module}.${local}`
}

function indexText(key: unknown): string {
  return key === undefined ? '' : `[${JSON.stringify(key)}]`
}

/** Each path is a list of steps; only its first step is the name of an attribute. */
function sensitiveNames(instance: PlainObject): ReadonlySet<string> {
  const paths = instance['sensitive_attributes']
  const firstSteps = Array.isArray(paths) ? paths.map((path: unknown) => objectsIn(path)[0]) : []
  return new Set(firstSteps.flatMap((step) => (step === undefined ? [] : [textAt(step, 'value')])))
}

function attributeChanges(
  old: StateEntry | undefined,
  next: StateEntry | undefined,
): readonly AttributeChange[] {
  const [before, after] = [old?.attributes ?? {}, next?.attributes ?? {}]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
  const isSensitive = (name: string): boolean =>
    old?.sensitive.has(name) === true || next?.sensitive.has(name) === true
  return names
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => ({
      name,
      before: isSensitive(name) ? SENSITIVE_TEXT : valueText(before[name]),
      after: isSensitive(name) ? SENSITIVE_TEXT : valueText(after[name]),
    }))
}

const SENSITIVE_TEXT = '(sensitive)'
