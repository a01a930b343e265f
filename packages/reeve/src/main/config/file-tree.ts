import { OPEN_BODY, type BlockSchema, type BodySchema } from '@reeve/hcl'
import { LABELLED_BLOCKS, type Option } from './option.ts'
import { optionEntries, type OptionName } from './options.ts'

/** The options as a tree of blocks and arguments, as in a file. */
export interface SchemaNode {
  readonly options: ReadonlyMap<string, DeclaredOption>
  /** Blocks by type, or by label in a labelled block. */
  readonly blocks: ReadonlyMap<string, SchemaNode>
}

export interface DeclaredOption {
  readonly name: OptionName
  readonly option: Option<unknown>
}

interface MutableSchemaNode extends SchemaNode {
  readonly options: Map<string, DeclaredOption>
  readonly blocks: Map<string, MutableSchemaNode>
}

export const fileTree: SchemaNode = buildSchema()

function buildSchema(): SchemaNode {
  const root: MutableSchemaNode = { options: new Map(), blocks: new Map() }
  for (const [name, option] of optionEntries) {
    const last = option.file?.at(-1)
    if (option.file === undefined || last === undefined) continue
    let branch = root
    for (const step of option.file.slice(0, -1)) {
      const next: MutableSchemaNode = branch.blocks.get(step) ?? {
        options: new Map(),
        blocks: new Map(),
      }
      branch.blocks.set(step, next)
      branch = next
    }
    branch.options.set(last, { name, option })
  }
  return root
}

export const fileSchema: BodySchema = toBodySchema(fileTree)

/**
 * Converts to a schema that accepts unknown names and any type, because these errors are found
 * while settings are read, so that all are reported together.
 */
function toBodySchema(branch: SchemaNode): BodySchema {
  const blocks: Record<string, BlockSchema> = {}
  for (const [type, child] of branch.blocks)
    blocks[type] = LABELLED_BLOCKS.has(type)
      ? { labels: ['name'], body: mergeBodySchemas([...child.blocks.values()]) }
      : { body: toBodySchema(child) }
  for (const [name, { option }] of branch.options)
    if (option.kind.isMap)
      blocks[name] = {
        body: OPEN_BODY,
        ...(option.kind.isLabelled === true ? { labels: ['name'] } : {}),
      }
  const names = [...branch.options.keys()]
  return { isOpen: true, blocks, attributes: Object.fromEntries(names.map((name) => [name, {}])) }
}

function mergeBodySchemas(branches: readonly SchemaNode[]): BodySchema {
  const schemas = branches.map(toBodySchema)
  return {
    isOpen: true,
    attributes: Object.assign({}, ...schemas.map(({ attributes }) => attributes)),
    blocks: Object.assign({}, ...schemas.map(({ blocks }) => blocks)),
  }
}
