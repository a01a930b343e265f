import { errorMessage } from '@reeve/kit/fault.ts'
import {
  fromPlain,
  GO_FUNCTIONS,
  parseTemplate,
  HELPER_FUNCTIONS,
  renderTemplate,
} from '@reeve/go-template'
import { UsageError } from '../failure.ts'
import type { Render } from './output.ts'

/** Reads `--template` before anything is asked or changed: a wrong one costs nothing. */
export function templateRender(source: string): Render {
  const functions = new Map([...GO_FUNCTIONS, ...HELPER_FUNCTIONS])
  const tree = orUsage(() => parseTemplate(source, { left: '{{', right: '}}', functions }))
  return (data) => orUsage(() => renderTemplate(tree, { data: fromPlain(data, true), functions }))
}

function orUsage<T>(step: () => T): T {
  try {
    return step()
  } catch (thrown) {
    throw new UsageError(`--template cannot be used: ${errorMessage(thrown)}.`)
  }
}
