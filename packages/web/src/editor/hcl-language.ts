import { StreamLanguage, type StringStream } from '@codemirror/language'

/** State of the tokenizer between lines: constructs that span several lines. */
interface HclState {
  inComment: boolean
  /** The identifier that ends the current heredoc. */
  heredocEnd: string | undefined
}

/** Highlighting of job files. The server validates them. */
export const hclLanguage = StreamLanguage.define<HclState>({
  name: 'hcl',
  startState: () => ({ inComment: false, heredocEnd: undefined }),
  token: (stream, state) => nextToken(stream, state),
  languageData: { commentTokens: { line: '#', block: { open: '/*', close: '*/' } } },
})

function nextToken(stream: StringStream, state: HclState): string | null {
  if (state.inComment) return readComment(stream, state)
  if (state.heredocEnd !== undefined) return readHeredoc(stream, state)
  if (stream.eatSpace()) return null
  if (stream.match(/^(?:#|\/\/).*/)) return 'comment'
  if (stream.match('/*')) {
    state.inComment = true
    return readComment(stream, state)
  }
  const opening = stream.match(/^<<[-~]?([A-Za-z_]\w*)/)
  if (Array.isArray(opening)) {
    state.heredocEnd = opening[1]
    return 'string'
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return isBlockLabel(stream) ? 'typeName' : 'string'
  if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
  if (stream.match(/^(?:true|false|null)\b/)) return 'atom'
  if (stream.match(/^(?:for|in|if|else|endif|endfor)\b/)) return 'keyword'
  if (stream.match(/^[A-Za-z_][\w-]*(?=\s*=[^=])/)) return 'propertyName'
  if (stream.match(/^[A-Za-z_][\w-]*(?=\s*(?:"[^"]*"\s*)*\{)/)) return 'keyword'
  if (stream.match(/^[A-Za-z_][\w-]*(?=\()/)) return 'variableName.function'
  if (stream.match(/^[A-Za-z_][\w-]*/)) return 'variableName'
  stream.next()
  return 'operator'
}

/** A string before an opening brace names a block. */
function isBlockLabel(stream: StringStream): boolean {
  return stream.match(/^\s*(?:"[^"]*"\s*)*\{/, false) !== null
}

function readComment(stream: StringStream, state: HclState): string {
  if (stream.match(/^.*?\*\//)) state.inComment = false
  else stream.skipToEnd()
  return 'comment'
}

function readHeredoc(stream: StringStream, state: HclState): string {
  if (stream.sol() && stream.string.trim() === state.heredocEnd) state.heredocEnd = undefined
  stream.skipToEnd()
  return 'string'
}
