import type { FunctionDefinition } from '@reeve/hcl'
import { controlFunctions } from './control.ts'
import { cryptoFunctions } from './crypt/crypto.ts'
import { encodingFunctions } from './encoding/encoding.ts'
import { fileFunctions } from './file/files.ts'
import { formatFunctions } from './text/format.ts'
import { listFunctions } from './collection/lists.ts'
import { mapFunctions } from './collection/maps.ts'
import { networkFunctions } from './network/network.ts'
import { numericFunctions } from './numeric.ts'
import type { FunctionOptions } from './options.ts'
import { regexFunctions } from './text/pattern.ts'
import { setFunctions } from './collection/sets.ts'
import { textFunctions } from './text/text.ts'
import { timeFunctions } from './time/time.ts'
import { uuidFunctions } from './crypt/uuid.ts'

export type { FileFunctions, FunctionOptions } from './options.ts'

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
