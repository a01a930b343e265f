import type { FunctionDefinition } from '@reeve/hcl'
import { controlFunctions } from './control.ts'
import { cryptoFunctions, uuidFunctions } from './crypto.ts'
import { encodingFunctions } from './encoding.ts'
import { fileFunctions } from './files.ts'
import { formatFunctions } from './format.ts'
import { listFunctions, mapFunctions, setFunctions } from './collections.ts'
import { networkFunctions } from './network.ts'
import { numericFunctions } from './numeric.ts'
import type { FunctionOptions } from './define.ts'
import { regexFunctions } from './regex.ts'
import { textFunctions } from './text/text.ts'
import { timeFunctions } from './time/time.ts'

export type { FileFunctions, FunctionOptions } from './define.ts'

/** All functions of job files by name. */
export function jobFunctions(options: FunctionOptions): ReadonlyMap<string, FunctionDefinition> {
  const { files, random, nowMs } = options
  return new Map(
    Object.entries({
      ...controlFunctions,
      ...cryptoFunctions(options),
      ...encodingFunctions,
      ...fileFunctions(files),
      ...formatFunctions,
      ...listFunctions,
      ...mapFunctions,
      ...networkFunctions,
      ...numericFunctions,
      ...regexFunctions,
      ...setFunctions,
      ...textFunctions,
      ...timeFunctions(nowMs),
      ...uuidFunctions(random),
    }),
  )
}
