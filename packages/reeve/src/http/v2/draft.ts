import { tagKeyProblems } from '../../governance/index.ts'
import type { AttributeProblem } from '../../model/index.ts'

/** A body that violates its schema. Its valid members may break other rules as well. */
export interface InvalidBody {
  /** The validator's output: valid members have the types of the schema. */
  readonly body: unknown
  /** Reports whether the schema has no problem at the pointer, within it or above it. */
  readonly isValidAt: (pointer: string) => boolean
}

/** A rule across members, applied to the valid part of a draft. */
export type CrossFieldRule = (draft: InvalidBody) => readonly AttributeProblem[]

/** Returns one error for each broken rule, those of the schema first. */
export function validationErrors(
  body: unknown,
  problems: readonly AttributeProblem[],
  rule: CrossFieldRule | undefined,
): readonly AttributeProblem[] {
  if (rule === undefined) return problems
  const isSound = (pointer: string): boolean =>
    problems.every((one) => !isWithin(one.pointer, pointer) && !isWithin(pointer, one.pointer))
  return [...problems, ...rule({ body, isValidAt: isSound })]
}

function isWithin(pointer: string, outer: string): boolean {
  return pointer === outer || pointer.startsWith(`${outer}/`)
}

/** Returns the member of a draft at a pointer; undefined if there is none. */
export function valueAtPointer(body: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined,
      body,
    )
}

/** Returns the rule for the keys of the tag bindings at a pointer, as far as they are valid. */
export function tagBindingRule(pointer: string): CrossFieldRule {
  return ({ body, isValidAt }) => {
    const tags = valueAtPointer(body, pointer)
    if (!Array.isArray(tags)) return []
    const keys = tags.map((tag: unknown, i) => {
      const key = valueAtPointer(tag, '/attributes/key')
      return typeof key === 'string' && isValidAt(`${pointer}/${i}/attributes/key`)
        ? key
        : undefined
    })
    return tagKeyProblems(keys, pointer)
  }
}

/** Rule for the tag bindings of a new or changed project or workspace. */
export const RELATED_TAGS_RULE = tagBindingRule('/data/relationships/tag-bindings/data')
