import type {
  ArgumentNode,
  DefinitionNode,
  DirectiveDefinitionNode,
  DirectiveNode,
  DocumentNode,
  EnumValueDefinitionNode,
  FieldDefinitionNode,
  InputValueDefinitionNode,
  NameNode,
  ObjectFieldNode,
  OperationTypeDefinitionNode,
  SchemaDefinitionNode,
  SchemaExtensionNode,
  SelectionNode,
  StringValueNode,
  TypeDefinitionNode,
  TypeExtensionNode,
  TypeNode,
  ValueNode,
  VariableDefinitionNode,
} from 'graphql/language/ast.js'
import { Kind } from 'graphql/language/kinds.js'
import type { JsonValue } from '../value/json.ts'
import { KINDS, OF_TYPES } from './check.ts'

type Members = { readonly [name: string]: JsonValue }

/** A query or a schema as policies see it. Members that hold nothing are left out. */
export function documentMembers({ definitions }: DocumentNode): Members {
  const all = (isWanted: (definition: DefinitionNode) => boolean): readonly Members[] =>
    definitions.filter(isWanted).map(definitionMembers)
  return filled({
    Operations: all(({ kind }) => kind === Kind.OPERATION_DEFINITION),
    Fragments: all(({ kind }) => kind === Kind.FRAGMENT_DEFINITION),
    Schema: all(({ kind }) => kind === Kind.SCHEMA_DEFINITION),
    SchemaExtension: all(({ kind }) => kind === Kind.SCHEMA_EXTENSION),
    Directives: all(({ kind }) => kind === Kind.DIRECTIVE_DEFINITION),
    Definitions: all(({ kind }) => kind in OF_TYPES && kind.endsWith('Definition')),
    Extensions: all(({ kind }) => kind in OF_TYPES && kind.endsWith('Extension')),
  })
}

function filled(members: Members): Members {
  const entries = Object.entries(members).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  )
  return Object.fromEntries(entries)
}

function definitionMembers(node: DefinitionNode): Members {
  switch (node.kind) {
    case Kind.OPERATION_DEFINITION:
      return filled({
        Name: node.name?.value ?? '',
        Operation: node.operation,
        VariableDefinitions: node.variableDefinitions?.map(variableMembers),
        Directives: directives(node),
        SelectionSet: node.selectionSet.selections.map(selectionMembers),
      })
    case Kind.FRAGMENT_DEFINITION:
      return filled({
        Name: node.name.value,
        // oxlint-disable-next-line typescript/no-deprecated
        VariableDefinition: node.variableDefinitions?.map(variableMembers),
        TypeCondition: node.typeCondition.name.value,
        Directives: directives(node),
        SelectionSet: node.selectionSet.selections.map(selectionMembers),
      })
    case Kind.SCHEMA_DEFINITION:
    case Kind.SCHEMA_EXTENSION:
      return schemaMembers(node)
    case Kind.DIRECTIVE_DEFINITION:
      return directiveDefinitionMembers(node)
    case Kind.DIRECTIVE_EXTENSION:
      return {}
    default:
      return typeDefinitionMembers(node)
  }
}

function variableMembers(node: VariableDefinitionNode): Members {
  return filled({
    Variable: node.variable.name.value,
    Type: typeMembers(node.type),
    DefaultValue: node.defaultValue === undefined ? undefined : valueMembers(node.defaultValue),
    Directives: directives(node),
    Used: false,
  })
}

function selectionMembers(node: SelectionNode): Members {
  if (node.kind === Kind.FRAGMENT_SPREAD)
    return filled({ Name: node.name.value, Directives: directives(node) })
  if (node.kind === Kind.INLINE_FRAGMENT)
    return filled({
      TypeCondition: node.typeCondition?.name.value ?? '',
      Directives: directives(node),
      SelectionSet: node.selectionSet.selections.map(selectionMembers),
    })
  return filled({
    Alias: (node.alias ?? node.name).value,
    Name: node.name.value,
    Arguments: node.arguments?.map(argumentMembers),
    Directives: directives(node),
    SelectionSet: node.selectionSet?.selections.map(selectionMembers),
  })
}

function directives(node: {
  readonly directives?: readonly DirectiveNode[] | undefined
}): readonly Members[] | undefined {
  return node.directives?.map((directive) =>
    filled({
      Name: directive.name.value,
      Arguments: directive.arguments?.map(argumentMembers),
      Location: '',
    }),
  )
}

function argumentMembers(node: ArgumentNode | ObjectFieldNode): Members {
  return { Name: node.name.value, Value: valueMembers(node.value) }
}

function valueMembers(node: ValueNode): Members {
  const members = (kind: number, raw: string, children: readonly Members[] = []): Members =>
    filled({ Raw: raw, Children: children, Kind: kind, ExpectedTypeHasDefault: false })
  switch (node.kind) {
    case Kind.VARIABLE:
      return members(KINDS.variable, node.name.value)
    case Kind.INT:
      return members(KINDS.int, node.value)
    case Kind.FLOAT:
      return members(KINDS.float, node.value)
    case Kind.STRING:
      return members(node.block === true ? KINDS.block : KINDS.string, node.value)
    case Kind.BOOLEAN:
      return members(KINDS.boolean, String(node.value))
    case Kind.NULL:
      return members(KINDS.null, 'null')
    case Kind.ENUM:
      return members(KINDS.enum, node.value)
    case Kind.LIST: {
      const children = node.values.map((value) => ({ Name: '', Value: valueMembers(value) }))
      return members(KINDS.list, '', children)
    }
    case Kind.OBJECT:
      return members(KINDS.object, '', node.fields.map(argumentMembers))
  }
}

function typeMembers(node: TypeNode): Members {
  if (node.kind === Kind.NON_NULL_TYPE) return { ...typeMembers(node.type), NonNull: true }
  if (node.kind === Kind.NAMED_TYPE) return { NamedType: node.name.value, NonNull: false }
  return { NamedType: '', Elem: typeMembers(node.type), NonNull: false }
}

function schemaMembers(node: SchemaDefinitionNode | SchemaExtensionNode): Members {
  return filled({
    Description: node.kind === Kind.SCHEMA_DEFINITION ? descriptionOf(node) : '',
    Directives: directives(node),
    OperationTypes: node.operationTypes?.map(
      ({ operation, type }: OperationTypeDefinitionNode) => ({
        Operation: operation,
        Type: type.name.value,
      }),
    ),
  })
}

function directiveDefinitionMembers(node: DirectiveDefinitionNode): Members {
  return filled({
    Description: descriptionOf(node),
    Name: node.name.value,
    Arguments: node.arguments?.map(inputMembers),
    Locations: names(node.locations),
    IsRepeatable: node.repeatable,
  })
}

function typeDefinitionMembers(node: TypeDefinitionNode | TypeExtensionNode): Members {
  return filled({
    Kind: OF_TYPES[node.kind],
    Description: 'description' in node ? descriptionOf(node) : '',
    Name: node.name.value,
    Directives: directives(node),
    Interfaces: 'interfaces' in node ? names(node.interfaces?.map(({ name }) => name)) : undefined,
    Fields: 'fields' in node ? node.fields?.map(fieldMembers) : undefined,
    Types: 'types' in node ? names(node.types?.map(({ name }) => name)) : undefined,
    EnumValues: 'values' in node ? node.values?.map(enumValueMembers) : undefined,
    BuiltIn: false,
  })
}

function names(nodes: readonly NameNode[] | undefined): readonly string[] | undefined {
  return nodes?.map(({ value }) => value)
}

function fieldMembers(node: FieldDefinitionNode | InputValueDefinitionNode): Members {
  if (node.kind === Kind.INPUT_VALUE_DEFINITION) return inputMembers(node)
  return filled({
    Description: descriptionOf(node),
    Name: node.name.value,
    Arguments: node.arguments?.map(inputMembers),
    Type: typeMembers(node.type),
    Directives: directives(node),
  })
}

function inputMembers(node: InputValueDefinitionNode): Members {
  return filled({
    Description: descriptionOf(node),
    Name: node.name.value,
    DefaultValue: node.defaultValue === undefined ? undefined : valueMembers(node.defaultValue),
    Type: typeMembers(node.type),
    Directives: directives(node),
  })
}

function enumValueMembers(node: EnumValueDefinitionNode): Members {
  return filled({
    Description: descriptionOf(node),
    Name: node.name.value,
    Directives: directives(node),
  })
}

function descriptionOf(node: { readonly description?: StringValueNode | undefined }): string {
  return node.description?.value ?? ''
}
