import { err, type Result } from '@reeve/kit/result.ts'
import { errorAt, makeSource, parseHcl, parseHclJson, type Body, type Diagnostic } from '@reeve/hcl'
import { JOB_FILE_LENGTH_MAX } from './limits.ts'

/** A text and its name in messages. */
export interface SourceFile {
  readonly file: string
  readonly text: string
}

const JSON_START = /^\uFEFF?\s*\{/

/** Text that starts with a brace is JSON syntax. */
export function isJsonSyntax(text: string): boolean {
  return JSON_START.test(text)
}

export function parseSource({ file, text }: SourceFile): Result<Body, readonly Diagnostic[]> {
  const tooLong = checkLength({ file, text })
  if (tooLong !== undefined) return err([tooLong])
  return isJsonSyntax(text) ? parseHclJson(text, file) : parseHcl(text, file)
}

/** Checks the length before parsing; undefined if it is allowed. */
export function checkLength({ file, text }: SourceFile): Diagnostic | undefined {
  if (text.length <= JOB_FILE_LENGTH_MAX) return undefined
  const detail = `A job file and a variable file may have at most ${JOB_FILE_LENGTH_MAX} characters.`
  return errorAt({ source: makeSource(file, ''), start: 0, end: 0 }, 'Text too long', detail)
}
