import { tagKeyProblems } from '../../governance/index.ts'
import type { AttributeProblem } from '../../model/index.ts'

/** A body that its schema refuses. Its sound members may break other rules as well. */
export interface Draft {
  /** What the validator made of it: members that are sound are as the schema says. */
  readonly body: unknown
  /** Whether the schema has nothing against what stands there, in it or around it. */
  readonly isSound: (pointer: string) => boolean
}

/** Rules across members, for as much of a draft as they can be held against. */
export type DraftRule = (draft: Draft) => readonly AttributeProblem[]

/** One error for each broken rule, those of the schema first. */
export function draftProblems(
  body: unknown,
  problems: readonly AttributeProblem[],
  rule: DraftRule | undefined,
): readonly AttributeProblem[] {
  if (rule === undefined) return problems
  const isSound = (pointer: string): boolean =>
    problems.every((one) => !isWithin(one.pointer, pointer) && !isWithin(pointer, one.pointer))
  return [...problems, ...rule({ body, isSound })]
}

function isWithin(pointer: string, outer: string): boolean {
  return pointer === outer || pointer.startsWith(`${outer}/`)
}

/** What stands at a pointer of a draft; undefined where nothing does. */
export function memberAt(body: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined,
      body,
    )
}

/** The keys of tag bindings that stand at a pointer, as far as they are keys. */
export function tagsRule(pointer: string): DraftRule {
  return ({ body, isSound }) => {
    const tags = memberAt(body, pointer)
    if (!Array.isArray(tags)) return []
    const keys = tags.map((tag: unknown, i) => {
      const key = memberAt(tag, '/attributes/key')
      return typeof key === 'string' && isSound(`${pointer}/${i}/attributes/key`) ? key : undefined
    })
    return tagKeyProblems(keys, pointer)
  }
}

/** Tag bindings that come with a new or changed project or workspace. */
export const RELATED_TAGS_RULE = tagsRule('/data/relationships/tag-bindings/data')
