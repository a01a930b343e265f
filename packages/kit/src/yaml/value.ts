/** A parsed YAML value: plain data. An integer that a double cannot represent is a bigint. */
export type YamlValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly YamlValue[]
  | { readonly [name: string]: YamlValue }
