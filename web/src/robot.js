// A robot that can be turned: bodies as triangles in the frames of their links, poses by posture or time.
import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DirectionalLight,
  DoubleSide,
  GridHelper,
  Group,
  HemisphereLight,
  LatheGeometry,
  Line,
  LineBasicMaterial,
  Matrix4,
  Mesh,
  MeshStandardMaterial,
  Object3D,
  PerspectiveCamera,
  Points,
  PointsMaterial,
  Quaternion,
  Scene,
  Vector2,
  Vector3,
  WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
const floats = (text) => new Float32Array(bytes(text));

const vertices = (text) => {
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new BufferAttribute(floats(text), 3));
  return geometry;
};

// A profile of (place along the axis, radius) turned about an axis; Lathe turns about y.
function turned(part) {
  const outline = part.profile.map(([place, radius]) => new Vector2(Math.max(radius, 0), place));
  const geometry = new LatheGeometry(outline, part.sides, Math.PI / part.sides);
  const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), new Vector3(...part.axis).normalize());
  return geometry.applyMatrix4(new Matrix4().compose(new Vector3(...part.origin), turn, new Vector3(1, 1, 1)));
}

function triangles(part) {
  const geometry = vertices(part.vertices);
  const corners = part.wide ? new Uint32Array(bytes(part.faces)) : new Uint16Array(bytes(part.faces));
  geometry.setIndex(new BufferAttribute(corners, 1));
  geometry.computeVertexNormals();
  return geometry;
}

function bodyMesh(part, opacity) {
  const geometry = part.vertices ? triangles(part) : turned(part);
  const material = new MeshStandardMaterial({
    color: new Color(part.color),
    roughness: 0.55,
    flatShading: Boolean(part.vertices),
    side: DoubleSide,
    transparent: opacity < 1,
    opacity,
    depthWrite: opacity === 1,
  });
  return new Mesh(geometry, material);
}

function copyOfRobot(scene, section, opacity) {
  return section.bodies.map((parts) => {
    const group = new Group();
    group.matrixAutoUpdate = false;
    for (const part of parts) group.add(bodyMesh(part, opacity));
    scene.add(group);
    return group;
  });
}

function place(groups, poses, frame) {
  groups.forEach((group, k) => {
    group.matrix.fromArray(poses, 16 * (frame * groups.length + k));
    group.matrixWorldNeedsUpdate = true;
  });
}

function furnish(scene, section) {
  scene.add(new HemisphereLight(0xffffff, 0x8899aa, 1.7));
  const sun = new DirectionalLight(0xffffff, 2);
  sun.position.set(1, -1, 2);
  scene.add(sun);
  const grid = new GridHelper(4 * section.size, 20, 0x8894a2, 0xaab4c0);
  grid.rotation.x = Math.PI / 2;
  grid.position.z = section.ground;
  grid.material.transparent = true;
  grid.material.opacity = 0.4;
  scene.add(grid);
  for (const part of section.foot) scene.add(bodyMesh(part, 1));
  if (section.trail) scene.add(new Line(vertices(section.trail), new LineBasicMaterial({ color: 0xd6336c })));
  if (section.points) {
    const size = 0.02 * section.size;
    scene.add(new Points(vertices(section.points), new PointsMaterial({ color: 0x1d5fd1, size })));
  }
}

function player(box, section, show) {
  const last = section.labels.length - 1;
  const bar = Object.assign(document.createElement('div'), { className: 'bar' });
  const button = Object.assign(document.createElement('button'), { textContent: '▶', title: 'play' });
  const slider = Object.assign(document.createElement('input'), { type: 'range', min: 0, max: last, value: 0 });
  const label = document.createElement('span');
  bar.append(button, slider, label);
  if (last > 0) box.append(bar);
  let started = null;
  const go = (frame) => {
    slider.value = frame;
    label.textContent = section.labels[frame];
    show(frame);
  };
  const stop = () => {
    started = null;
    button.textContent = '▶';
  };
  const tick = (now) => {
    if (started === null) return;
    const share = ((now - started) / 1000 / section.seconds) % 1;
    go(Math.min(last, Math.floor(share * (last + 1))));
    requestAnimationFrame(tick);
  };
  button.onclick = () => {
    if (started !== null) return stop();
    started = performance.now() - (1000 * section.seconds * +slider.value) / (last + 1);
    button.textContent = '⏸';
    return requestAnimationFrame(tick);
  };
  slider.oninput = () => {
    stop();
    go(+slider.value);
  };
  go(0);
}

export function showRobot(box, section) {
  let renderer;
  try {
    renderer = new WebGLRenderer({ antialias: true, alpha: true, preserveDrawingBuffer: true });
  } catch {
    box.textContent = 'This browser does not draw in three dimensions (WebGL is off).';
    return;
  }
  renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
  box.append(renderer.domElement);
  Object3D.DEFAULT_UP.set(0, 0, 1);
  const scene = new Scene();
  const camera = new PerspectiveCamera(35, 1, 0.01 * section.size, 100 * section.size);
  camera.up.set(0, 0, 1);
  camera.position.set(...section.camera);
  const controls = new OrbitControls(camera, renderer.domElement);
  controls.target.set(...section.center);
  controls.update();
  furnish(scene, section);
  const draw = () => renderer.render(scene, camera);
  const robot = copyOfRobot(scene, section, 1);
  const poses = floats(section.poses);
  for (const ghost of section.ghosts) place(copyOfRobot(scene, section, 0.22), floats(ghost), 0);
  player(box, section, (frame) => {
    place(robot, poses, frame);
    draw();
  });
  controls.addEventListener('change', draw);
  new ResizeObserver(() => {
    renderer.setSize(box.clientWidth, box.clientHeight);
    camera.aspect = box.clientWidth / box.clientHeight;
    camera.updateProjectionMatrix();
    draw();
  }).observe(box);
}
