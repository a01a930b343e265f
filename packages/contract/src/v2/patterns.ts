/**
 * Patterns of names, keys and durations. Each is anchored and free of nested repetition, so
 * matching is linear in the length of the input. Lengths are separate rules (limits.ts), because
 * each violated rule gets an error of its own.
 */

import { Type, type TSchema } from 'typebox'
import {
  EMAIL_LENGTH_MAX,
  ID_SUFFIX_LENGTH,
  NAME_LENGTH_MAX,
  ORGANIZATION_NAME_LENGTH_MAX,
  ORGANIZATION_NAME_LENGTH_MIN,
  PROJECT_NAME_LENGTH_MAX,
  PROJECT_NAME_LENGTH_MIN,
  TAG_KEY_LENGTH_MAX,
  TAG_VALUE_LENGTH_MAX,
} from './limits.ts'

// Letters, numbers, spaces, `-`, `_`; must not start or end with a space. Teams use the same.
export const PROJECT_NAME_PATTERN = '^[A-Za-z0-9_-](?:[A-Za-z0-9 _-]*[A-Za-z0-9_-])?$'

// Letters, numbers, `-`, `_`. All other names use the same.
export const POLICY_NAME_PATTERN = '^[A-Za-z0-9_-]+$'

// Alphanumerics plus `_ . = + - @ :`; the value has the same alphabet and may be empty.
export const TAG_KEY_PATTERN = '^[A-Za-z0-9_.=+@:-]+$'
export const TAG_VALUE_PATTERN = '^[A-Za-z0-9_.=+@:-]*$'

// Reserved tag keys may also contain spaces.
export const RESERVED_TAG_KEY_PATTERN = '^[A-Za-z0-9_.=+@: -]+$'

// Up to four digits, greater than 0, unit `d` or `h`.
export const DURATION_PATTERN = '^(?=0*[1-9])[0-9]{1,4}[dh]$'

/** One `@` with text on both sides; only a delivered message proves more. */
export const EMAIL_PATTERN = '^[^\\s@]+@[^\\s@]+$'

// Base58, without the characters that people confuse (`0 O I l`).
export const ID_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const idSuffixPattern = `[1-9A-HJ-NP-Za-km-z]{${ID_SUFFIX_LENGTH}}`

/** The prefix of each resource's identifiers, by JSON:API type. */
export const ID_PREFIXES = {
  applies: 'apply',
  'authentication-tokens': 'at',
  'configuration-versions': 'cv',
  'entitlement-sets': 'org',
  'notification-configurations': 'nc',
  'organization-memberships': 'ou',
  plans: 'plan',
  policies: 'pol',
  'policy-checks': 'polchk',
  'policy-evaluations': 'poleval',
  'policy-set-outcomes': 'psout',
  'policy-set-versions': 'polsetver',
  'policy-sets': 'polset',
  'policy-versions': 'polver',
  projects: 'prj',
  'reserved-tag-keys': 'rtk',
  'run-events': 're',
  'run-triggers': 'rt',
  runs: 'run',
  'state-versions': 'sv',
  'tag-bindings': 'tb',
  'task-stages': 'ts',
  'team-projects': 'tprj',
  'team-workspaces': 'tws',
  teams: 'team',
  users: 'user',
  vars: 'var',
  varsets: 'varset',
  workspaces: 'ws',
} as const
export type PrefixedType = keyof typeof ID_PREFIXES

/**
 * An identifier assigned by this service. Paths accept any text: an id of another form is not
 * found (404).
 */
export function PrefixedId(type: PrefixedType) {
  return Type.String({ pattern: `^${ID_PREFIXES[type]}-${idSuffixPattern}$` })
}

/** Effective tag bindings have an identifier without prefix. */
export function UnprefixedId() {
  return Type.String({ pattern: `^${idSuffixPattern}$` })
}

/**
 * Error texts by JSON Schema keyword. The name of the attribute precedes the text (`Name may only
 * contain …`). Clients match on the joined text, so it is part of the contract.
 */
export interface ValidationMessages {
  readonly 'x-refusals': { readonly [keyword: string]: string }
}

/** Returns the error text of a schema for a keyword; undefined if the default text applies. */
export function validationMessage(schema: TSchema, keyword: string): string | undefined {
  const texts: unknown = 'x-refusals' in schema ? schema['x-refusals'] : undefined
  if (typeof texts !== 'object' || texts === null) return undefined
  const found = Object.entries(texts).find(([each]) => each === keyword)
  return typeof found?.[1] === 'string' ? found[1] : undefined
}

/** Marks an enum whose allowed values depend on other members of the request. */
export const DEPENDENT_ENUM = { 'x-ruled-together': true } as const

/** Reports whether the handler validates the value, because it depends on other members. */
export function isDependentEnum(schema: TSchema): boolean {
  return 'x-ruled-together' in schema
}

function validationMessages(texts: ValidationMessages['x-refusals']): ValidationMessages {
  return { 'x-refusals': texts }
}

export function ProjectName() {
  return Type.String({
    minLength: PROJECT_NAME_LENGTH_MIN,
    maxLength: PROJECT_NAME_LENGTH_MAX,
    pattern: PROJECT_NAME_PATTERN,
    description: 'Unique in the organization, case ignored.',
    ...validationMessages({ pattern: SPACED_NAME_RULE }),
  })
}

const SPACED_NAME_RULE =
  'may only contain letters, numbers, spaces, - and _, without a space at either end'

export function OrganizationName() {
  return Type.String({
    minLength: ORGANIZATION_NAME_LENGTH_MIN,
    maxLength: ORGANIZATION_NAME_LENGTH_MAX,
    pattern: POLICY_NAME_PATTERN,
    description: 'Unique everywhere, case ignored.',
    ...validationMessages({ pattern: 'may only contain letters, numbers, - and _' }),
  })
}

/** Names of policies, policy sets, workspaces and users. */
export function Name(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: NAME_LENGTH_MAX,
    pattern: POLICY_NAME_PATTERN,
    description,
    ...validationMessages({ pattern: 'may only contain letters, numbers, - and _' }),
  })
}

/** Names of teams; they may contain spaces. */
export function TeamName(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: NAME_LENGTH_MAX,
    pattern: PROJECT_NAME_PATTERN,
    description,
    ...validationMessages({ pattern: SPACED_NAME_RULE }),
  })
}

export function TagKey() {
  return Type.String({
    minLength: 1,
    maxLength: TAG_KEY_LENGTH_MAX,
    pattern: TAG_KEY_PATTERN,
    description: 'Case counts. Keys with a reserved prefix are refused.',
    ...validationMessages({ pattern: 'may only contain letters, numbers and _ . = + - @ :' }),
  })
}

export function TagValue() {
  return Type.String({
    maxLength: TAG_VALUE_LENGTH_MAX,
    pattern: TAG_VALUE_PATTERN,
    ...validationMessages({ pattern: 'may only contain letters, numbers and _ . = + - @ :' }),
  })
}

export function ReservedKey() {
  return Type.String({
    minLength: 1,
    maxLength: TAG_KEY_LENGTH_MAX,
    pattern: RESERVED_TAG_KEY_PATTERN,
    ...validationMessages({ pattern: 'is invalid' }),
  })
}

export function AutoDestroyDuration() {
  return Type.String({
    pattern: DURATION_PATTERN,
    description: 'Up to four digits, greater than 0, then `d` (days) or `h` (hours): `14d`.',
    ...validationMessages({
      pattern: "has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')",
    }),
  })
}

export function Email() {
  return Type.String({
    maxLength: EMAIL_LENGTH_MAX,
    pattern: EMAIL_PATTERN,
    ...validationMessages({ pattern: 'is not an email address' }),
  })
}
