/** Kinds of values in the documents that policies see. */
export const KINDS = {
  variable: 0,
  int: 1,
  float: 2,
  string: 3,
  block: 4,
  boolean: 5,
  null: 6,
  enum: 7,
  list: 8,
  object: 9,
} as const

/** Kinds of types in the documents that policies see, by the library's names of their nodes. */
export const OF_TYPES = {
  ScalarTypeDefinition: 'SCALAR',
  ObjectTypeDefinition: 'OBJECT',
  InterfaceTypeDefinition: 'INTERFACE',
  UnionTypeDefinition: 'UNION',
  EnumTypeDefinition: 'ENUM',
  InputObjectTypeDefinition: 'INPUT_OBJECT',
  ScalarTypeExtension: 'SCALAR',
  ObjectTypeExtension: 'OBJECT',
  InterfaceTypeExtension: 'INTERFACE',
  UnionTypeExtension: 'UNION',
  EnumTypeExtension: 'ENUM',
  InputObjectTypeExtension: 'INPUT_OBJECT',
} as const
