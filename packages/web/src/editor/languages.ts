import type { StreamLanguage } from '@codemirror/language'
import { hclLanguage } from './hcl-language.ts'
import { jsonLanguage } from './json-language.ts'
import { nativeLanguage } from './native-language.ts'
import { regoLanguage } from './rego-language.ts'

/** Languages with highlighting. */
export const LANGUAGES = {
  hcl: hclLanguage,
  json: jsonLanguage,
  native: nativeLanguage,
  rego: regoLanguage,
  plain: undefined,
} as const satisfies Record<string, StreamLanguage<unknown> | undefined>

export type EditorLanguage = keyof typeof LANGUAGES
