import { decodeBase64, encodeBase64 } from '@reeve/kit/base64.ts'
import { ok } from '@reeve/kit/result.ts'
import { decodeUtf8, encodeUtf8 } from '@reeve/kit/utf8.ts'
import type { FunctionDefinition } from '@reeve/hcl'
import { parseYaml, writeYaml } from '@reeve/kit/yaml/index.ts'
import { any, text } from '../argument.ts'
import { decodeCsv } from './csv.ts'
import { define, chargeSteps, failArgument } from '../define.ts'
import { toJsonString } from './json-text.ts'
import { STEPS_PER_DECODED_CHARACTER, STEPS_PER_YAML_CHARACTER } from '../limits.ts'
import { parseJsonText } from './json-reader.ts'

export const encodingFunctions: Readonly<Record<string, FunctionDefinition>> = {
  base64decode: define([text('str')], ([str], meter) => {
    const paid = chargeSteps(meter, str.length * STEPS_PER_DECODED_CHARACTER)
    if (!paid.ok) return paid
    const bytes = decodeBase64(str)
    if (bytes === undefined) return failArgument(0, 'str is not valid base64')
    const decoded = decodeUtf8(bytes)
    return decoded === undefined
      ? failArgument(0, 'str holds bytes that are not UTF-8 text')
      : ok(decoded)
  }),
  base64encode: define([text('str')], ([str], meter) => {
    const paid = chargeSteps(meter, str.length * STEPS_PER_DECODED_CHARACTER)
    return paid.ok ? ok(encodeBase64(encodeUtf8(str))) : paid
  }),
  csvdecode: define([text('str')], ([str], meter) => {
    const paid = chargeSteps(meter, str.length * STEPS_PER_DECODED_CHARACTER)
    if (!paid.ok) return paid
    const rows = decodeCsv(str)
    return rows.ok ? rows : failArgument(0, `str is not valid CSV: ${rows.error}`)
  }),
  jsondecode: define([text('str')], ([str], meter) => {
    const paid = chargeSteps(meter, str.length * STEPS_PER_DECODED_CHARACTER)
    if (!paid.ok) return paid
    const value = parseJsonText(str)
    return value.ok ? value : failArgument(0, `str is not valid JSON: ${value.error}`)
  }),
  jsonencode: define([any('val')], ([value]) => ok(toJsonString(value))),
  urlencode: define([text('str')], ([str]) => ok(encodeForQuery(str))),
  yamldecode: define([text('src')], ([src], meter) => {
    const paid = chargeSteps(meter, src.length * STEPS_PER_YAML_CHARACTER)
    if (!paid.ok) return paid
    const value = parseYaml(src)
    return value.ok ? value : failArgument(0, `src is not valid YAML: ${value.error}`)
  }),
  yamlencode: define([any('value')], ([value]) => ok(writeYaml(value))),
}

/** Encodes for a URL query: a space becomes `+`; letters, digits and `-_.~` are unchanged. */
function encodeForQuery(str: string): string {
  return encodeURIComponent(str.toWellFormed())
    .replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+')
}
