import type { StreamLanguage } from '@codemirror/language'
import { hclLanguage } from './hcl-language.ts'
import { jsonLanguage } from './json-language.ts'

/** The languages that the editor colours. */
export const LANGUAGES = {
  hcl: hclLanguage,
  json: jsonLanguage,
  plain: undefined,
} as const satisfies Record<string, StreamLanguage<unknown> | undefined>

export type EditorLanguage = keyof typeof LANGUAGES
