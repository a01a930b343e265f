import { AGGREGATE_BUILTINS, ARRAY_BUILTINS, SET_BUILTINS } from './collections.ts'
import { ARITHMETIC_BUILTINS, BIT_BUILTINS, NUMBER_BUILTINS } from './numbers.ts'
import { AWS_BUILTINS } from './aws.ts'
import type { Builtin } from './builtin.ts'
import {
  COMPARISON_BUILTINS,
  DEPRECATED_BUILTINS,
  TRACING_BUILTINS,
  TYPE_BUILTINS,
} from './core.ts'
import { STRING_PART_BUILTINS } from './string-parts.ts'
import { STRING_BUILTINS } from './strings.ts'
import { GRAPH_BUILTINS, OBJECT_BUILTINS, WALK_BUILTINS } from './objects.ts'
import { ENCODING_BUILTINS } from './encoding.ts'
import { GLOB_BUILTINS } from './glob.ts'
import { GRAPHQL_BUILTINS } from './graphql.ts'
import { JSON_PATH_BUILTINS } from './json.ts'
import { NET_BUILTINS } from './net.ts'
import { REGEX_BUILTINS } from './regex.ts'
import { SEMVER_BUILTINS } from './semver.ts'
import { TIME_BUILTINS } from './time.ts'
import { UNIT_BUILTINS } from './units.ts'
import { URI_BUILTINS } from './uri.ts'
import { UUID_BUILTINS } from './uuid.ts'
import { CRYPTO_BUILTINS } from './crypto.ts'
import { HOST_BUILTINS } from './http-and-runtime.ts'
import { JWT_BUILTINS, TOKEN_SIGN_BUILTINS } from './jwt.ts'
import { X509_BUILTINS } from './x509.ts'
import { JSON_SCHEMA_BUILTINS } from './json-schema.ts'
import { PARSE_MODULE_BUILTINS } from './parse-module.ts'
import { RENDER_TEMPLATE_BUILTINS } from './render-template.ts'

const ALL: readonly Builtin[] = [
  ...AGGREGATE_BUILTINS,
  ...ARITHMETIC_BUILTINS,
  ...ARRAY_BUILTINS,
  ...AWS_BUILTINS,
  ...BIT_BUILTINS,
  ...COMPARISON_BUILTINS,
  ...NUMBER_BUILTINS,
  ...SET_BUILTINS,
  ...STRING_BUILTINS,
  ...STRING_PART_BUILTINS,
  ...TRACING_BUILTINS,
  ...TYPE_BUILTINS,
  ...WALK_BUILTINS,
  ...DEPRECATED_BUILTINS,
  ...ENCODING_BUILTINS,
  ...GLOB_BUILTINS,
  ...GRAPH_BUILTINS,
  ...GRAPHQL_BUILTINS,
  ...JSON_PATH_BUILTINS,
  ...NET_BUILTINS,
  ...OBJECT_BUILTINS,
  ...REGEX_BUILTINS,
  ...SEMVER_BUILTINS,
  ...TIME_BUILTINS,
  ...UNIT_BUILTINS,
  ...URI_BUILTINS,
  ...UUID_BUILTINS,
  ...CRYPTO_BUILTINS,
  ...HOST_BUILTINS,
  ...JWT_BUILTINS,
  ...TOKEN_SIGN_BUILTINS,
  ...X509_BUILTINS,
  ...JSON_SCHEMA_BUILTINS,
  ...PARSE_MODULE_BUILTINS,
  ...RENDER_TEMPLATE_BUILTINS,
]

/** Every function a policy may call without defining it, by name. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map(
  ALL.map((builtin) => [builtin.name, builtin]),
)
