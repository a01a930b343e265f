import { lineOf, nodeAt, nodesAt, textAt, type Source, type SyntaxNode } from './tree.ts'

/** Imports and exports of a file. */
export interface Module {
  readonly uses: readonly ModuleUse[]
  readonly exports: readonly ExportedName[]
  /** Specifiers of `export * from`. */
  readonly stars: readonly string[]
}

export interface ModuleUse {
  readonly specifier: string
  readonly line: number
  /** `reference`: named by address only, as `new URL('./worker.ts', import.meta.url)` does. */
  readonly kind: 'import' | 'reexport' | 'dynamic' | 'reference'
  readonly isTypeOnly: boolean
  /** `all` if the names are unknown, as with `import * as x`. */
  readonly names: readonly string[] | 'all'
}

export interface ExportedName {
  readonly name: string
  readonly line: number
  /** An interface or type alias: gone when the program runs. */
  readonly isType: boolean
}

export function readModule(source: Source): Module {
  const uses: ModuleUse[] = []
  const exports: ExportedName[] = []
  const stars: string[] = []
  for (const { node } of source.nodes) {
    const use = useOf(node)
    if (use !== undefined) uses.push(use)
    exports.push(...exportsOf(node))
    if (node.type === 'ExportAllDeclaration') {
      const specifier = stringOf(nodeAt(node, 'source'))
      if (specifier !== undefined) stars.push(specifier)
    }
  }
  return { uses, exports, stars }
}

/** The import a node makes, in any of the forms the language has for it. */
function useOf(node: SyntaxNode): ModuleUse | undefined {
  const form = formOf(node)
  const specifier = stringOf(form?.specifier)
  if (form === undefined || specifier === undefined) return undefined
  return { isTypeOnly: false, names: 'all', ...form.use, specifier, line: lineOf(node) }
}

interface Form {
  readonly specifier: SyntaxNode | undefined
  readonly use: Pick<ModuleUse, 'kind'> & Partial<Pick<ModuleUse, 'isTypeOnly' | 'names'>>
}

function formOf(node: SyntaxNode): Form | undefined {
  const specifier = nodeAt(node, 'source')
  switch (node.type) {
    case 'ImportDeclaration':
      return { specifier, use: { kind: 'import', ...namesOf(node, 'importKind', 'imported') } }
    case 'ExportNamedDeclaration':
      return { specifier, use: { kind: 'reexport', ...namesOf(node, 'exportKind', 'local') } }
    case 'ExportAllDeclaration':
      // Names re-exported by a star are resolved through `stars`; the statement itself uses none.
      return {
        specifier,
        use: { kind: 'reexport', isTypeOnly: isType(node, 'exportKind'), names: [] },
      }
    case 'ImportExpression':
      return { specifier, use: { kind: 'dynamic' } }
    case 'TSImportType':
      return { specifier: importedType(node), use: { kind: 'import', isTypeOnly: true } }
    case 'CallExpression':
      return callForm(node)
    case 'NewExpression':
      return addressForm(node)
    default:
      return undefined
  }
}

/** `import('./a.ts').A` in a type; parsers differ in where they keep the text. */
function importedType(node: SyntaxNode): SyntaxNode | undefined {
  const argument = nodeAt(node, 'source') ?? nodeAt(node, 'argument')
  return argument?.type === 'TSLiteralType' ? nodeAt(argument, 'literal') : argument
}

/** `require('./a.cjs')` and `import.meta.resolve('./a.ts')`. */
function callForm(node: SyntaxNode): Form | undefined {
  const callee = nodeAt(node, 'callee')
  const [specifier] = nodesAt(node, 'arguments')
  if (callee?.type === 'Identifier' && textAt(callee, 'name') === 'require')
    return { specifier, use: { kind: 'dynamic' } }
  if (callee?.type === 'Import') return { specifier, use: { kind: 'dynamic' } }
  const object = callee === undefined ? undefined : nodeAt(callee, 'object')
  const property = callee === undefined ? undefined : nodeAt(callee, 'property')
  return object?.type === 'MetaProperty' && textAt(property, 'name') === 'resolve'
    ? { specifier, use: { kind: 'reference' } }
    : undefined
}

/**
 * `new URL('./worker.ts', import.meta.url)`. A document or other data is read, not run: no arrow.
 */
function addressForm(node: SyntaxNode): Form | undefined {
  const [specifier, base] = nodesAt(node, 'arguments')
  if (textAt(nodeAt(node, 'callee'), 'name') !== 'URL' || base === undefined) return undefined
  const isHere = nodeAt(base, 'object')?.type === 'MetaProperty'
  const isModule = /\.[cm]?[jt]sx?$/.test(textAt(specifier, 'value') ?? '')
  return isHere && isModule ? { specifier, use: { kind: 'reference' } } : undefined
}

function namesOf(node: SyntaxNode, kind: string, field: string): Omit<Form['use'], 'kind'> {
  const specifiers = nodesAt(node, 'specifiers')
  const allTypes = specifiers.length > 0 && specifiers.every((specifier) => isType(specifier, kind))
  const isTypeOnly = isType(node, kind) || allTypes
  const names = specifiers.map((specifier) => {
    if (specifier.type === 'ImportDefaultSpecifier') return 'default'
    const isWhole = /Namespace/.test(specifier.type)
    return isWhole ? undefined : nameOf(nodeAt(specifier, field))
  })
  const known = names.filter((name) => name !== undefined)
  return { isTypeOnly, names: known.length === names.length ? known : 'all' }
}

function isType(node: SyntaxNode, kind: string): boolean {
  return textAt(node, kind) === 'type'
}

/** The names a statement exports, re-exports included; those of a star are not known here. */
function exportsOf(node: SyntaxNode): ExportedName[] {
  if (node.type === 'ExportDefaultDeclaration')
    return [{ name: 'default', line: lineOf(node), isType: false }]
  if (node.type !== 'ExportNamedDeclaration') return []
  const listed = nodesAt(node, 'specifiers').flatMap((specifier) => {
    const name = nameOf(nodeAt(specifier, 'exported'))
    const isOfType = isType(node, 'exportKind') || isType(specifier, 'exportKind')
    return name === undefined ? [] : [{ name, line: lineOf(specifier), isType: isOfType }]
  })
  const declaration = nodeAt(node, 'declaration')
  return declaration === undefined ? listed : [...listed, ...declaredNames(declaration)]
}

function declaredNames(declaration: SyntaxNode): ExportedName[] {
  const places =
    declaration.type === 'VariableDeclaration'
      ? nodesAt(declaration, 'declarations').flatMap((one) => boundNames(nodeAt(one, 'id')))
      : boundNames(nodeAt(declaration, 'id'))
  const isOfType = /^TS(Interface|TypeAlias)Declaration$/.test(declaration.type)
  return places.map((place) => ({ ...place, isType: isOfType }))
}

/** The names of a binding, through `{ a, b: [c] }` patterns. */
function boundNames(pattern: SyntaxNode | undefined): Omit<ExportedName, 'isType'>[] {
  if (pattern === undefined) return []
  const name = textAt(pattern, 'name')
  if (pattern.type === 'Identifier')
    return name === undefined ? [] : [{ name, line: lineOf(pattern) }]
  const inner = [
    ...nodesAt(pattern, 'elements'),
    ...nodesAt(pattern, 'properties').map((one) => nodeAt(one, 'value') ?? one),
  ]
  const single = nodeAt(pattern, 'argument') ?? nodeAt(pattern, 'left')
  return [...inner, ...(single === undefined ? [] : [single])].flatMap(boundNames)
}

function nameOf(node: SyntaxNode | undefined): string | undefined {
  return textAt(node, 'name') ?? stringOf(node)
}

function stringOf(node: SyntaxNode | undefined): string | undefined {
  if (node?.type === 'TemplateLiteral') return plainTemplate(node)
  return node?.type === 'StringLiteral' ? textAt(node, 'value') : undefined
}

/** A template without placeholders is a string in other quotes. */
function plainTemplate(node: SyntaxNode): string | undefined {
  const [only, second] = nodesAt(node, 'quasis')
  const value = only?.['value']
  if (second !== undefined || typeof value !== 'object' || value === null) return undefined
  return 'cooked' in value && typeof value.cooked === 'string' ? value.cooked : undefined
}
