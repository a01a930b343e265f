import type {
  ArgumentNode,
  ConstArgumentNode,
  ConstDirectiveNode,
  ConstValueNode,
  DefinitionNode,
  DocumentNode,
  EnumValueDefinitionNode,
  FieldDefinitionNode,
  InputValueDefinitionNode,
  NamedTypeNode,
  NameNode,
  OperationTypeDefinitionNode,
  SelectionNode,
  SelectionSetNode,
  StringValueNode,
  TypeNode,
  ValueNode,
  VariableDefinitionNode,
} from 'graphql/language/ast.js'
import { Kind } from 'graphql/language/kinds.js'
import type { JsonValue } from '../value/json.ts'
import { KINDS } from './check.ts'

/** The reverse of `documentMembers`: what a policy made or changed is no text any more. */
export function documentOf(value: JsonValue): DocumentNode {
  const members = new Members(value)
  return { kind: Kind.DOCUMENT, definitions: [...executable(members), ...typeSystem(members)] }
}

/** Thrown where a value has not the shape of a document. */
export class WrongShape extends Error {
  override readonly name = 'WrongShape'
}

/** Typed access to the members of an object; one that is absent is empty. */
class Members {
  readonly #members: { readonly [name: string]: JsonValue }

  constructor(value: JsonValue) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new WrongShape('an object is needed')
    // Neither a list nor null is left.
    this.#members = value as { readonly [name: string]: JsonValue }
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#members, name) && this.#members[name] !== null
  }

  text(name: string): string {
    const value = this.#value(name) ?? ''
    return typeof value === 'string' ? value : this.#wrong(name, 'a string')
  }

  flag(name: string): boolean {
    const value = this.#value(name) ?? false
    return typeof value === 'boolean' ? value : this.#wrong(name, 'a boolean')
  }

  number(name: string): number {
    const value = this.#value(name) ?? 0
    return typeof value === 'number' ? value : this.#wrong(name, 'a number')
  }

  object(name: string): Members {
    return new Members(this.#value(name) ?? this.#wrong(name, 'an object'))
  }

  objects(name: string): readonly Members[] {
    return this.#list(name).map((item) => new Members(item))
  }

  texts(name: string): readonly string[] {
    return this.#list(name).map((item) =>
      typeof item === 'string' ? item : this.#wrong(name, 'an array of strings'),
    )
  }

  #list(name: string): readonly JsonValue[] {
    const value = this.#value(name) ?? []
    return isList(value) ? value : this.#wrong(name, 'an array')
  }

  #value(name: string): JsonValue {
    return Object.hasOwn(this.#members, name) ? this.#members[name] : undefined
  }

  #wrong(name: string, wanted: string): never {
    throw new WrongShape(`${name} must be ${wanted}`)
  }
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function nameNode(value: string): NameNode {
  return { kind: Kind.NAME, value }
}

function namedType(value: string): NamedTypeNode {
  return { kind: Kind.NAMED_TYPE, name: nameNode(value) }
}

function executable(members: Members): readonly DefinitionNode[] {
  const operations = members.objects('Operations').map((one): DefinitionNode => ({
    kind: Kind.OPERATION_DEFINITION,
    operation: operationOf(one),
    ...(one.text('Name') === '' ? {} : { name: nameNode(one.text('Name')) }),
    variableDefinitions: one.objects('VariableDefinitions').map(variableNode),
    directives: directiveNodes(one),
    selectionSet: selectionSet(one),
  }))
  const fragments = members.objects('Fragments').map((one): DefinitionNode => ({
    kind: Kind.FRAGMENT_DEFINITION,
    name: nameNode(one.text('Name')),
    // oxlint-disable-next-line typescript/no-deprecated
    variableDefinitions: one.objects('VariableDefinition').map(variableNode),
    typeCondition: namedType(one.text('TypeCondition')),
    directives: directiveNodes(one),
    selectionSet: selectionSet(one),
  }))
  return [...operations, ...fragments]
}

const OPERATIONS: readonly string[] = ['query', 'mutation', 'subscription']

function operationOf(members: Members): OperationTypeDefinitionNode['operation'] {
  const word = members.text('Operation')
  if (!OPERATIONS.includes(word)) throw new WrongShape(`Operation must not be "${word}"`)
  // It is one of the enumeration's three words.
  return word as OperationTypeDefinitionNode['operation']
}

function variableNode(members: Members): VariableDefinitionNode {
  return {
    kind: Kind.VARIABLE_DEFINITION,
    variable: { kind: Kind.VARIABLE, name: nameNode(members.text('Variable')) },
    type: typeNode(members.object('Type')),
    ...defaultOf(members),
    directives: directiveNodes(members),
  }
}

function defaultOf(members: Members): { readonly defaultValue?: ConstValueNode } {
  return members.has('DefaultValue')
    ? { defaultValue: constantNode(members.object('DefaultValue')) }
    : {}
}

function selectionSet(members: Members): SelectionSetNode {
  return { kind: Kind.SELECTION_SET, selections: members.objects('SelectionSet').map(selection) }
}

function selection(members: Members): SelectionNode {
  const directives = directiveNodes(members)
  if (members.has('Alias')) {
    const [alias, name] = [members.text('Alias'), members.text('Name')]
    return {
      kind: Kind.FIELD,
      name: nameNode(name),
      ...(alias === name ? {} : { alias: nameNode(alias) }),
      arguments: members.objects('Arguments').map(argumentNode),
      directives,
      ...(members.has('SelectionSet') ? { selectionSet: selectionSet(members) } : {}),
    }
  }
  if (members.has('TypeCondition')) {
    const condition = members.text('TypeCondition')
    return {
      kind: Kind.INLINE_FRAGMENT,
      ...(condition === '' ? {} : { typeCondition: namedType(condition) }),
      directives,
      selectionSet: selectionSet(members),
    }
  }
  return { kind: Kind.FRAGMENT_SPREAD, name: nameNode(members.text('Name')), directives }
}

function directiveNodes(members: Members): readonly ConstDirectiveNode[] {
  return members.objects('Directives').map((one): ConstDirectiveNode => ({
    kind: Kind.DIRECTIVE,
    name: nameNode(one.text('Name')),
    // Validation finds variables where there must be none.
    arguments: one.objects('Arguments').map(argumentNode) as readonly ConstArgumentNode[],
  }))
}

function argumentNode(members: Members): ArgumentNode {
  return {
    kind: Kind.ARGUMENT,
    name: nameNode(members.text('Name')),
    value: valueNode(members.object('Value')),
  }
}

function constantNode(members: Members): ConstValueNode {
  // Validation finds variables where there must be none.
  return valueNode(members) as ConstValueNode
}

function valueNode(members: Members): ValueNode {
  const raw = members.text('Raw')
  switch (members.number('Kind')) {
    case KINDS.variable:
      return { kind: Kind.VARIABLE, name: nameNode(raw) }
    case KINDS.int:
      return { kind: Kind.INT, value: raw }
    case KINDS.float:
      return { kind: Kind.FLOAT, value: raw }
    case KINDS.string:
      return { kind: Kind.STRING, value: raw, block: false }
    case KINDS.block:
      return { kind: Kind.STRING, value: raw, block: true }
    case KINDS.boolean:
      return { kind: Kind.BOOLEAN, value: raw === 'true' }
    case KINDS.null:
      return { kind: Kind.NULL }
    case KINDS.enum:
      return { kind: Kind.ENUM, value: raw }
    case KINDS.list:
      return {
        kind: Kind.LIST,
        values: members.objects('Children').map((one) => valueNode(one.object('Value'))),
      }
    case KINDS.object:
      return {
        kind: Kind.OBJECT,
        fields: members.objects('Children').map((one) => ({
          kind: Kind.OBJECT_FIELD,
          name: nameNode(one.text('Name')),
          value: valueNode(one.object('Value')),
        })),
      }
    default:
      throw new WrongShape(`Kind must be from 0 to ${KINDS.object}`)
  }
}

function typeNode(members: Members): TypeNode {
  const type = members.has('Elem')
    ? ({ kind: Kind.LIST_TYPE, type: typeNode(members.object('Elem')) } as const)
    : namedType(members.text('NamedType'))
  return members.flag('NonNull') ? { kind: Kind.NON_NULL_TYPE, type } : type
}

function typeSystem(members: Members): readonly DefinitionNode[] {
  const schemas = members.objects('Schema').map((one): DefinitionNode => ({
    kind: Kind.SCHEMA_DEFINITION,
    ...described(one),
    directives: directiveNodes(one),
    operationTypes: operationTypes(one),
  }))
  const extensions = members.objects('SchemaExtension').map((one): DefinitionNode => ({
    kind: Kind.SCHEMA_EXTENSION,
    directives: directiveNodes(one),
    operationTypes: operationTypes(one),
  }))
  const directives = members.objects('Directives').map((one): DefinitionNode => ({
    kind: Kind.DIRECTIVE_DEFINITION,
    ...described(one),
    name: nameNode(one.text('Name')),
    arguments: one.objects('Arguments').map(inputNode),
    repeatable: one.flag('IsRepeatable'),
    locations: one.texts('Locations').map(nameNode),
  }))
  return [
    ...schemas,
    ...extensions,
    ...directives,
    ...members.objects('Definitions').map((one) => typeDefinition(one, 'Definition')),
    ...members.objects('Extensions').map((one) => typeDefinition(one, 'Extension')),
  ]
}

function operationTypes(members: Members): readonly OperationTypeDefinitionNode[] {
  return members.objects('OperationTypes').map((one) => ({
    kind: Kind.OPERATION_TYPE_DEFINITION,
    operation: operationOf(one),
    type: namedType(one.text('Type')),
  }))
}

function described(members: Members): { readonly description?: StringValueNode } {
  const value = members.text('Description')
  return value === '' ? {} : { description: { kind: Kind.STRING, value } }
}

function typeDefinition(members: Members, suffix: 'Definition' | 'Extension'): DefinitionNode {
  const common = {
    ...(suffix === 'Definition' ? described(members) : {}),
    name: nameNode(members.text('Name')),
    directives: directiveNodes(members),
  }
  const isExtension = suffix === 'Extension'
  const kind = members.text('Kind')
  switch (kind) {
    case 'SCALAR':
      return {
        ...common,
        kind: isExtension ? Kind.SCALAR_TYPE_EXTENSION : Kind.SCALAR_TYPE_DEFINITION,
      }
    case 'OBJECT':
      return {
        ...common,
        kind: isExtension ? Kind.OBJECT_TYPE_EXTENSION : Kind.OBJECT_TYPE_DEFINITION,
        interfaces: members.texts('Interfaces').map(namedType),
        fields: members.objects('Fields').map(fieldNode),
      }
    case 'INTERFACE':
      return {
        ...common,
        kind: isExtension ? Kind.INTERFACE_TYPE_EXTENSION : Kind.INTERFACE_TYPE_DEFINITION,
        interfaces: members.texts('Interfaces').map(namedType),
        fields: members.objects('Fields').map(fieldNode),
      }
    case 'UNION':
      return {
        ...common,
        kind: isExtension ? Kind.UNION_TYPE_EXTENSION : Kind.UNION_TYPE_DEFINITION,
        types: members.texts('Types').map(namedType),
      }
    case 'ENUM':
      return {
        ...common,
        kind: isExtension ? Kind.ENUM_TYPE_EXTENSION : Kind.ENUM_TYPE_DEFINITION,
        values: members.objects('EnumValues').map(enumValueNode),
      }
    case 'INPUT_OBJECT':
      return {
        ...common,
        kind: isExtension ? Kind.INPUT_OBJECT_TYPE_EXTENSION : Kind.INPUT_OBJECT_TYPE_DEFINITION,
        fields: members.objects('Fields').map(inputNode),
      }
    default:
      throw new WrongShape(`Kind must not be "${kind}"`)
  }
}

function fieldNode(members: Members): FieldDefinitionNode {
  return {
    kind: Kind.FIELD_DEFINITION,
    ...described(members),
    name: nameNode(members.text('Name')),
    arguments: members.objects('Arguments').map(inputNode),
    type: typeNode(members.object('Type')),
    directives: directiveNodes(members),
  }
}

function inputNode(members: Members): InputValueDefinitionNode {
  return {
    kind: Kind.INPUT_VALUE_DEFINITION,
    ...described(members),
    name: nameNode(members.text('Name')),
    type: typeNode(members.object('Type')),
    ...defaultOf(members),
    directives: directiveNodes(members),
  }
}

function enumValueNode(members: Members): EnumValueDefinitionNode {
  return {
    kind: Kind.ENUM_VALUE_DEFINITION,
    ...described(members),
    name: nameNode(members.text('Name')),
    directives: directiveNodes(members),
  }
}
