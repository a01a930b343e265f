import type { FunctionDefinition } from '../../lang/hcl/index.ts'
import { controlFunctions } from './control.ts'
import { cryptoFunctions } from './crypto.ts'
import { encodingFunctions } from './encoding.ts'
import { fileFunctions } from './files.ts'
import { formatFunctions } from './format.ts'
import { listFunctions } from './lists.ts'
import { mapFunctions } from './maps.ts'
import { networkFunctions } from './network.ts'
import { numericFunctions } from './numeric.ts'
import type { FunctionOptions } from './options.ts'
import { patternFunctions } from './pattern.ts'
import { setFunctions } from './sets.ts'
import { textFunctions } from './text.ts'
import { timeFunctions } from './time.ts'
import { uuidFunctions } from './uuid.ts'

export type { FileFunctions, FunctionOptions } from './options.ts'

/** Every function that a job file may call, by name. */
export function jobFunctions(options: FunctionOptions): ReadonlyMap<string, FunctionDefinition> {
  const { files, random, nowMs } = options
  return new Map(
    Object.entries({
      ...controlFunctions,
      ...cryptoFunctions(random),
      ...encodingFunctions,
      ...fileFunctions(files),
      ...formatFunctions,
      ...listFunctions,
      ...mapFunctions,
      ...networkFunctions,
      ...numericFunctions,
      ...patternFunctions,
      ...setFunctions,
      ...textFunctions,
      ...timeFunctions(nowMs),
      ...uuidFunctions(random),
    }),
  )
}
