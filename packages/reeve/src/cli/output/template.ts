import { errorMessage } from '@reeve/kit/fault.ts'
import {
  fromPlain,
  GO_FUNCTIONS,
  parseTemplate,
  HELPER_FUNCTIONS,
  renderTemplate,
} from '@reeve/go-template'
import { UsageError } from '../errors.ts'
import type { Render } from './output.ts'

/** Parses `--template` before the command runs, so that an invalid template has no side effects. */
export function createTemplateRenderer(source: string): Render {
  const functions = new Map([...GO_FUNCTIONS, ...HELPER_FUNCTIONS])
  const tree = asUsageError(() => parseTemplate(source, { left: '{{', right: '}}', functions }))
  return (data) =>
    asUsageError(() => renderTemplate(tree, { data: fromPlain(data, true), functions }))
}

function asUsageError<T>(step: () => T): T {
  try {
    return step()
  } catch (thrown) {
    throw new UsageError(`--template cannot be used: ${errorMessage(thrown)}.`)
  }
}
