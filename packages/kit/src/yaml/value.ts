/**
 * What a text holds: plain data. A whole number that a double cannot hold exactly is a bigint.
 */
export type YamlValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly YamlValue[]
  | { readonly [name: string]: YamlValue }
