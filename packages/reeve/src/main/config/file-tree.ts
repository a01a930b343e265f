import { OPEN_BODY, type BlockSchema, type BodySchema } from '@reeve/hcl'
import { LABELLED_BLOCKS, type Option } from './option.ts'
import { optionEntries, type OptionName } from './options.ts'

/** The table of options as a file is built: arguments and blocks inside blocks. */
export interface Branch {
  readonly options: ReadonlyMap<string, DeclaredOption>
  /** By type; in a labelled block by label. */
  readonly blocks: ReadonlyMap<string, Branch>
}

export interface DeclaredOption {
  readonly name: OptionName
  readonly option: Option<unknown>
}

interface GrowingBranch extends Branch {
  readonly options: Map<string, DeclaredOption>
  readonly blocks: Map<string, GrowingBranch>
}

export const fileTree: Branch = growTree()

function growTree(): Branch {
  const root: GrowingBranch = { options: new Map(), blocks: new Map() }
  for (const [name, option] of optionEntries) {
    const last = option.file?.at(-1)
    if (option.file === undefined || last === undefined) continue
    let branch = root
    for (const step of option.file.slice(0, -1)) {
      const next: GrowingBranch = branch.blocks.get(step) ?? {
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

export const fileSchema: BodySchema = schemaOf(fileTree)

/**
 * Open everywhere, and without types: what is unknown or has the wrong type is found while the
 * settings are read, so that one run reports all of it together.
 */
function schemaOf(branch: Branch): BodySchema {
  const blocks: Record<string, BlockSchema> = {}
  for (const [type, child] of branch.blocks)
    blocks[type] = LABELLED_BLOCKS.has(type)
      ? { labels: ['name'], body: schemaOfAll([...child.blocks.values()]) }
      : { body: schemaOf(child) }
  for (const [name, { option }] of branch.options)
    if (option.kind.isMap)
      blocks[name] = {
        body: OPEN_BODY,
        ...(option.kind.isLabelled === true ? { labels: ['name'] } : {}),
      }
  const names = [...branch.options.keys()]
  return { isOpen: true, blocks, attributes: Object.fromEntries(names.map((name) => [name, {}])) }
}

function schemaOfAll(branches: readonly Branch[]): BodySchema {
  const schemas = branches.map(schemaOf)
  return {
    isOpen: true,
    attributes: Object.assign({}, ...schemas.map(({ attributes }) => attributes)),
    blocks: Object.assign({}, ...schemas.map(({ blocks }) => blocks)),
  }
}
