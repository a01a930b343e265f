/**
 * Rules for comparing the properties of one record. A property without a rule does not compile, so
 * that no new job field is omitted from the diff.
 */
export type Rules = Readonly<Record<string, Rule>>

export type Rule =
  /** One value: a field. */
  | 'field'
  /** A string map: a field per key, named `Meta[key]`. */
  | 'entries'
  /** Set by servers, or a copy of a compared property. */
  | 'unseen'
  /** Groups of a job and tasks of a group, which have their own structure in the diff. */
  | 'nested'
  | TextsRule
  | TreeRule
  | ObjectRule
  | ObjectsRule

export interface TextsRule {
  readonly kind: 'texts'
  /** Whether a different order of the same texts is a change. */
  readonly ordered: boolean
}

/** A structure without a schema: a field per leaf. */
export interface TreeRule {
  readonly kind: 'tree'
}

export interface ObjectRule {
  readonly kind: 'object'
  readonly rules: Rules
}

export interface ObjectsRule {
  readonly kind: 'objects'
  /** Name of an object in the diff. */
  readonly name: string
  readonly rules: Rules
  /** Returns the key that matches objects before and after. */
  readonly keyOf: KeyOf
}

export type KeyOf = (entry: object) => string

type Scalar = string | number | boolean | null
type RuleOf<V> = [V] extends [Scalar] ? 'field' | 'unseen' : Exclude<Rule, 'field'>

/** Declares the rules of one record type. */
export function rulesOf<T>(rules: { readonly [K in keyof T]-?: RuleOf<T[K]> }): Rules {
  return rules
}

/** Texts without significant order. */
export const stringSet: TextsRule = { kind: 'texts', ordered: false }

/** Texts with significant order, such as the arguments of a command. */
export const stringList: TextsRule = { kind: 'texts', ordered: true }

export const treeRule: TreeRule = { kind: 'tree' }

/** A nested record, named like its property. */
export function objectRule(rules: Rules): ObjectRule {
  return { kind: 'object', rules }
}

/** Records of one type, in a list or a map. */
export function objectsRule(name: string, rules: Rules, keyOf: KeyOf): ObjectsRule {
  return { kind: 'objects', name, rules, keyOf }
}

/** Uses one property as the key. */
export function byField(name: string): KeyOf {
  return (entry) => String(Reflect.get(entry, name))
}

/** Uses the whole content as the key: a record with different content is another one. */
export const byContent: KeyOf = (entry) => JSON.stringify(entry)

/** Uses a constant key, for collections that usually have one entry. */
export const anyEntry: KeyOf = () => ''
