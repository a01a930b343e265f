/**
 * How the properties of one record are compared. A property without a rule does not compile, so a
 * new job field cannot be left out of the diff by forgetting it.
 */
export type Rules = Readonly<Record<string, Rule>>

export type Rule =
  /** One value: a field. */
  | 'field'
  /** A map of texts: a field for each key, named `Meta[key]`. */
  | 'entries'
  /** Written by servers, or a copy of something that is compared. */
  | 'unseen'
  /** Groups of a job and tasks of a group: parts of the diff with a shape of their own. */
  | 'nested'
  | TextsRule
  | TreeRule
  | ObjectRule
  | ObjectsRule

export interface TextsRule {
  readonly kind: 'texts'
  /** Whether another order of the same texts is a change. */
  readonly ordered: boolean
}

/** A structure that nobody here looks into: a field for each leaf. */
export interface TreeRule {
  readonly kind: 'tree'
}

export interface ObjectRule {
  readonly kind: 'object'
  readonly rules: Rules
}

export interface ObjectsRule {
  readonly kind: 'objects'
  /** What one of them is called. */
  readonly name: string
  readonly rules: Rules
  /** Tells which of before is which of after: those of one key are one thing. */
  readonly keyOf: KeyOf
}

export type KeyOf = (entry: object) => string

type Scalar = string | number | boolean | null
type RuleOf<V> = [V] extends [Scalar] ? 'field' | 'unseen' : Exclude<Rule, 'field'>

/** Declares the rules of one record type. */
export function rulesOf<T>(rules: { readonly [K in keyof T]-?: RuleOf<T[K]> }): Rules {
  return rules
}

/** Texts whose order means nothing. */
export const set: TextsRule = { kind: 'texts', ordered: false }

/** Texts whose order means something, such as the arguments of a command. */
export const list: TextsRule = { kind: 'texts', ordered: true }

export const tree: TreeRule = { kind: 'tree' }

/** A record of its own, called as its property. */
export function object(rules: Rules): ObjectRule {
  return { kind: 'object', rules }
}

/** Records of one kind, in a list or under names. */
export function objects(name: string, rules: Rules, keyOf: KeyOf): ObjectsRule {
  return { kind: 'objects', name, rules, keyOf }
}

/** One property names the record. */
export function by(name: string): KeyOf {
  return (entry) => String(Reflect.get(entry, name))
}

/** Nothing names the record but its whole content: with another content it is another one. */
export const byContent: KeyOf = (entry) => JSON.stringify(entry)

/** There is usually one, so that any is taken for the other. */
export const alike: KeyOf = () => ''
